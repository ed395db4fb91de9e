"""Functions that would have one name are named by what differs."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Cell(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(layers))
        self.acts = [torch.tanh, torch.sigmoid][:layers]

    def forward(self, x):
        return self.step(x)

    def step(self, x):
        for act, layer in zip(self.acts, self.layers, strict=True):
            x = act(layer(x))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Cell(1), Cell(2)

    def forward(self, x):
        return self.step(self.decoder(self.encoder(x)))

    def step(self, x):
        return x * 2


def test_copies_are_named_after_their_modules_and_methods_after_their_classes():
    """No function has a number in its name."""
    text = source(Net(), X)
    names = [line[4 : line.index("(")] for line in text.splitlines() if line.startswith("def ")]
    assert not any(name[-1].isdigit() for name in names)
    assert "encoder_cell" in names and "decoder_cell" in names and "step" in names
    assert agrees(Net(), X)


class Unit(nn.Module):
    def __init__(self, layers, shortcut=False):
        super().__init__()
        self.body = nn.Sequential(*(nn.Linear(3, 3) for _ in range(layers)))
        if shortcut:
            self.shortcut = nn.Linear(3, 3)
        self.acts = [torch.tanh, torch.sigmoid, torch.relu][:layers]

    def forward(self, x):
        h = self.body(x)
        for act in self.acts:
            h = act(h)
        return h


class Stack(nn.Module):
    def __init__(self, *units):
        super().__init__()
        self.layers = nn.ModuleList(units)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def names_of(text: str) -> set[str]:
    return {line[4 : line.index("(")] for line in text.splitlines() if line.startswith("def ")}


def test_an_exception_among_copies_is_named_by_its_structure():
    """A unit with fewer layers than the others is `short`, not numbered."""
    module = Stack(Unit(1), Unit(3), Unit(3))
    assert {"short_unit", "unit"} <= names_of(source(module, X))
    assert agrees(module, X)
    module = Stack(Unit(3), Unit(1), Unit(1))
    assert {"long_unit", "unit"} <= names_of(source(module, X))
    module = Stack(Unit(1), Unit(3, shortcut=True), Unit(3, shortcut=True))
    assert {"unit_without_shortcut", "unit"} <= names_of(source(module, X))
