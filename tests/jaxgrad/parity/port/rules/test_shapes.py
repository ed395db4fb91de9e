"""Operators that change shapes keep the sizes that torch keeps."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Expanded(nn.Module):
    """The sizes are in a variable, as `torch.fx` writes them."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        sizes = (h.shape[0],)
        sizes = (*sizes, -1)
        return h[:1].expand(sizes) * h


def test_a_size_of_minus_one_in_a_variable_is_the_size_that_is_there():
    assert agrees(Expanded(), X)


class Flat(nn.Module):
    def forward(self, x):
        a = (x * 2).flatten(-2)
        b = (a + 1).flatten(2)
        c = (x * 3).flatten(0, 1).unflatten(-1, (2, -1))
        return a.sum() + b.sum() + c.flatten(1, 2).sum()


def test_sizes_that_stay_are_written_as_a_slice_of_the_shape():
    """Two or more sizes beside a flattened dim are `*x.shape[:-2]`, counted as torch counts."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 6)).astype(np.float32)
    text = source(Flat(), x)
    assert ".shape[:-2], -1)" in text
    assert ".shape[2:])" in text
    assert "shape[2], " not in text, text


class Fixed(nn.Module):
    """Dims that torch counts from the front, with a parameter so that gradients are compared."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        h = self.fc(x).flatten(1, 2)
        return h.unflatten(1, (3, 4)).flatten(-2).unflatten(-1, (2, 12)).flatten(0, 1)


def test_flattened_dims_have_the_gradients_of_torch():
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 6)).astype(np.float32)
    assert agrees(Fixed(), x)
