"""Operators that read or write parts of a tensor."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Distances(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return (h @ h.T).fill_diagonal_(0)


class Masked(Distances):
    def forward(self, x):
        h = self.fc(x)
        return h.where(x > 0, torch.zeros((), dtype=h.dtype)).where(x < 1, other=-h)


def test_where_as_a_method_takes_the_condition_second():
    assert agrees(Masked(), X)


def test_the_diagonal_is_filled():
    assert agrees(Distances(), X)


class Columns(Distances):
    def forward(self, x):
        h = self.fc(x)
        return h[..., [-2]] * h[[1]] + h[:, [-1]] * h[:, [0, 2]].sum() + h[[0], [1]]


def test_a_list_of_one_place_is_a_slice():
    """One of two lists, and a list of two places, stay arrays of places."""
    text = source(Columns(), X)
    assert "h[..., -2:-1] * h[1:2]" in text and "h[:, -1:]" in text
    assert "h[:, jnp.array([0, 2])]" in text and "h[jnp.array([0]), jnp.array([1])]" in text
    assert agrees(Columns(), X)
