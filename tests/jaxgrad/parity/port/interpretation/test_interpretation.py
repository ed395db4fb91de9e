"""The entry of a port has an argument for each input of the module."""

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(nn.Linear(3, 3).weight.detach())

    def forward(self, image):
        scaled = image * 2
        return (scaled @ self.weight).tanh()


class Passes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Scaled()

    def forward(self, x):
        return self.work(x)

    def work(self, picture):
        x = self.inner(picture * 2).sin()
        return x * picture + x


class Twice(nn.Module):
    def forward(self, image):
        return double(image)


def double(values):
    values = values + 1
    return (values * values).sin()


def test_a_function_in_the_place_of_the_entry_has_no_other_argument():
    """`forward` only passes its input on, so that the other function is the entry."""
    text = source(Passes(), X)
    assert "def passes(p, picture):" in text
    assert agrees(Passes(), X)
    assert "def sequential(p, values):" in source(nn.Sequential(Twice()), X)


def test_an_input_that_is_passed_by_name_keeps_its_name():
    """The names of the inputs are those of the module's `forward`."""
    ported = port(Passes(), {"x": X}, prove=False)
    assert "def passes(p, x):" in ported.source and "picture" not in ported.source
    module = Passes()
    got = ported.fn(ported.params(module.state_dict()), x=X)
    np.testing.assert_allclose(got, module(torch.tensor(X)).detach(), rtol=1e-5)


class Worker:
    """A strategy that takes the module as its first argument, as in diffusers."""

    def __call__(self, attn, picture):
        return attn.inner(picture) * 2


class Delegates(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.worker = nn.Linear(3, 3), Worker()

    def forward(self, picture):
        return self.worker(self, picture)


def test_an_entry_that_takes_the_module_under_another_name_has_its_params_first():
    """The function that does the work becomes the entry, and its `attn` is `p`."""
    assert "def delegates(p, picture)" in source(Delegates(), X)
    assert agrees(Delegates(), X)
