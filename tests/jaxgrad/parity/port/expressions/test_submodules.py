"""Submodules that a program does not read by their own names in their parents."""

from typing import Any

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Run(nn.Sequential):
    """One activation has two names."""

    def __init__(self, act):
        super().__init__(nn.Linear(4, 4), act, nn.Linear(4, 4), act)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        act = nn.Tanh()
        self.first, self.second = Run(act), Run(act)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_module_of_several_names_is_found_below_its_parent():
    assert agrees(Twice(), X)


class Captured(nn.Module):
    """The constructor makes a function that captures a submodule."""

    def __init__(self):
        super().__init__()
        self.mlp = nn.ModuleDict({"fc": nn.Linear(4, 8), "act": nn.GELU(), "out": nn.Linear(8, 4)})
        m: Any = self.mlp
        self.run = lambda x: m.out(m.act(m.fc(x)))

    def forward(self, x):
        return x + self.run(x)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Captured(), Captured()])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def test_a_module_that_a_function_captures_is_found_below_the_caller():
    assert 'p["mlp"]["fc"]' in source(Captured(), X)
    assert agrees(Captured(), X)
    assert agrees(Blocks(), X)
