"""The entry of a port has an argument for each input of the module."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
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


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ((), "inputs=: torch's Linear called with 0 inputs raised TypeError: "),
        (
            (np.zeros((4, 5), np.float32),),
            "inputs=: torch's Linear called with 1 input (float32[4, 5]) raised RuntimeError: mat1",
        ),
        (
            {"input": np.zeros((4, 5), np.float32)},
            "inputs=: torch's Linear called with 1 input (float32[4, 5]) raised RuntimeError: mat1",
        ),
    ],
    ids=["missing", "shape", "named"],
)
def test_inputs_that_torch_rejects_are_named(inputs, text):
    """The error is about the user's inputs, and not about a line of torch's source."""
    with pytest.raises(PortError) as error:
        port(nn.Linear(3, 2), inputs)
    assert str(error.value).startswith(text)


class Raises(nn.Module):
    """Handles an error of a helper, and raises another one in it."""

    def look_up(self, name):
        return {"scale": 2.0}[name]

    def forward(self, x):
        try:
            return x * self.look_up("shift")
        except KeyError:
            return x / self.look_up("width")


def test_an_error_of_the_module_names_the_line_that_raised_it_last():
    """The line is that of the innermost statement, and a handled error does not hide it."""
    with pytest.raises(PortError) as error:
        port(Raises(), (X,))

    place = error.value.place
    assert place is not None and place.text.strip() == 'return {"scale": 2.0}[name]'
    assert "`: this raised KeyError: 'width'; pass inputs on" in str(error.value)
