"""Records and sequences that a module makes while it runs."""

from typing import Any, NamedTuple

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Dropped(nn.Module):
    """It runs a part of its layers, as models with a random depth do."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        layers = list(self.layers)[1:]
        return nn.Sequential(*layers)(x)


def test_a_sequential_of_own_layers_calls_each():
    assert agrees(Dropped(), X)


class Arguments(NamedTuple):
    value: Any
    mask: Any


class Records(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        arguments = Arguments(value=self.fc(x), mask=None)
        return arguments.value if arguments.mask is None else arguments.mask


def test_a_field_of_a_named_tuple_may_be_none():
    assert agrees(Records(), X)
