"""Attributes of values are those of torch, or are written as JAX has them."""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


class Checked(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        if not (x.dtype.is_floating_point or x.dtype.is_complex):
            raise TypeError("floating-point numbers are needed")
        return self.fc(x) * (2 if x.dtype.is_floating_point else 1)


def test_what_a_dtype_is_is_folded():
    """`x.dtype` is written as it is, but JAX's dtype has no `is_floating_point`."""
    text = source(Checked(), X)
    assert "is_floating_point" not in text and "* 2" in text
    assert agrees(Checked(), X)


class Paired(nn.Module):
    """The modules are also in a list of pairs, each with a number."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.paths = [(2.0 + n, layer) for n, layer in enumerate(self.layers)]

    def forward(self, x):
        for scale, layer in self.paths:
            x = layer(x) * scale
        return x


def test_a_module_in_a_list_of_pairs_is_reached_by_its_own_name():
    assert agrees(Paired(), X)


class Tableau(NamedTuple):
    weights: torch.Tensor
    order: int


class Stages:
    """An object of the program whose class holds tensors, as a solver holds its coefficients."""

    tableau = Tableau(torch.tensor([0.25, 0.75]), 2)
    shift = torch.tensor(0.5)

    def __init__(self, x):
        self.x = x

    def value(self):
        return self.x * self.tableau.weights[1].to(self.x.dtype) + self.shift.to(self.x.dtype)


class Staged(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return Stages(self.fc(x)).value()


def test_the_tensors_of_a_class_are_constants():
    assert agrees(Staged(), X)


class Options(dict):
    """A dict whose elements are attributes, as many configurations are."""

    __getattr__ = dict.__getitem__


class Configured(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.options = Options(layer=self.fc, scale=2.0)

    def forward(self, x):
        return self.options.layer(x) * self.options.scale


def test_the_elements_of_a_dict_that_are_attributes():
    assert agrees(Configured(), X)


class Named(nn.Module):
    """Parameters that the code reads through a dict and a list of the module."""

    def __init__(self):
        super().__init__()
        self.scale, self.layer = nn.Parameter(torch.ones(3)), nn.Linear(3, 3)
        self.values = {"scale": self.scale, "bias": self.layer.bias}
        self.all = [self.scale]

    def forward(self, x):
        return self.layer(x) * self.values["scale"] + self.values["bias"] + self.all[0]


def test_a_registered_parameter_may_be_read_through_a_dict_or_a_list():
    """It is the parameter of the params tree, whichever way it is reached."""
    module, x = Named(), np.ones((2, 3), np.float32)
    assert 'p["scale"] + p["layer"]["bias"] + p["scale"]' in source(module, x)
    assert proves(module, x)
