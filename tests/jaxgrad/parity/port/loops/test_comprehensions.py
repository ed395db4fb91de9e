"""Comprehensions of configuration."""

import functools

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


class Lazy:
    """A transform that calls a method of a module when it is applied."""

    def __init__(self, meta):
        self.meta = meta

    def apply(self, x):
        return x * self.meta(x)


class Conditioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def scale(self, context, x):
        return self.fc(x).tanh()

    def forward(self):
        return Lazy(functools.partial(self.scale, None))


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Conditioner(), Conditioner()])

    def forward(self, x):
        transforms = [layer() for layer in self.layers]
        for transform in transforms:
            x = transform.apply(x)
        return x


def test_objects_that_hold_methods_of_modules_are_made_and_gone_through():
    """The method of each object is that of its own module, not of the loop's variable."""
    assert agrees(Flow(), np.ones((3, 4), np.float32))
