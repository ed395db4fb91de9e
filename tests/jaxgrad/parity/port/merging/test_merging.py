"""Copies of a function that differ in constants are one function."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((2, 2, 6)).astype(np.float32)


class Unit(nn.Sequential):
    def __init__(self, act=None, **options):
        super().__init__(nn.Conv1d(2, 2, 1, **options), act or nn.Tanh())


class Stack(nn.Module):
    def __init__(self, *units):
        super().__init__()
        self.first, self.second, self.third = units

    def forward(self, x):
        return self.third(self.second(self.first(x)))


def test_an_option_that_one_copy_leaves_out_has_its_default():
    """The calls pass what differs from the default, in the order of the function."""
    module = Stack(Unit(), Unit(groups=2, padding=1), Unit(stride=2))
    text = source(module, X)
    assert text.count("F.conv1d(") == 1
    assert "def unit(p, x, *, " in text and "stride=1" in text
    assert "padding=1, groups=2)" in text or "groups=2, padding=1)" in text
    assert agrees(module, X)


def test_an_option_with_a_wrong_value_changes_the_gradient():
    """The keyword of the merged function is what the call passes."""
    module = Stack(Unit(), Unit(padding=1), Unit())
    assert agrees(module, X)
    assert not agrees(module, X, without="padding=1)", instead="padding=2)")


def test_copies_that_differ_in_more_than_constants_stay_apart():
    """Another activation, or another number of layers, is another function."""
    text = source(Stack(Unit(), Unit(nn.ReLU(), padding=1), Unit()), X)
    assert text.count("F.conv1d(") == 2
    longer = nn.Sequential(*Unit(), nn.Tanh())
    text = source(Stack(Unit(), longer, Unit(padding=1)), X)
    assert text.count("F.conv1d(") == 2 and torch.is_tensor(longer[0].weight)


class Tree(nn.Module):
    """A module that holds a smaller one of its own class."""

    def __init__(self, level: int, scale: float = 1.0):
        super().__init__()
        self.level, self.scale, self.fc = level, scale, nn.Linear(3, 3)
        if level > 1:
            self.inner = Tree(level - 1, 0.5)

    def forward(self, x):
        if self.level > 1:
            x = self.inner(x)
        return self.fc(x).sin() * self.scale


def test_a_module_in_one_of_its_own_class_has_a_function_of_its_own():
    """The entry keeps its name and its constants."""
    text = source(Tree(2, 2.0), np.ones((2, 3), np.float32))

    assert "def tree(p, x, *, scale=2.0):" in text
    assert "def inner_tree(p, x, *, scale=0.5):" in text
    assert proves(Tree(2, 2.0), np.ones((2, 3), np.float32))
    assert proves(Tree(3, 2.0), np.ones((2, 3), np.float32))
