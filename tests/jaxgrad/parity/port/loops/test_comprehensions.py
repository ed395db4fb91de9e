"""Comprehensions of configuration."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Names(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.options = nn.Linear(4, 4), {"scale": 2, "other": 3}

    def forward(self, x):
        unknown = {name.lower() for name in self.options} - {"scale", "other"}
        return self.fc(x) if unknown else self.fc(x) * self.options["scale"]


def test_a_set_of_names_is_a_set():
    assert agrees(Names(), X)


class Crop(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        parts = [slice(1, size - 1) for size in h.shape]
        return h[tuple(parts)] * 2


def test_slices_of_a_comprehension_are_written_in_the_index():
    assert agrees(Crop(), X)


class Sets(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        names = set()
        names.add("scale")
        if names - {"scale"}:
            return x
        return self.fc(x)


def test_a_set_that_is_filled_is_folded_in_an_operator():
    assert agrees(Sets(), X)
