"""Elements of lists of modules, and of modules with elements of their own."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


class Normed(nn.Module):
    """A loop's counter reaches a layer whose buffers change in train mode."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            [nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)) for _ in range(2)]
        )

    def forward(self, x):
        found = []
        for n in range(2):
            x = self.layers[n](x)
            found.append(x.tanh())
        return sum(found)


@pytest.mark.slow
def test_a_layer_that_a_counter_reaches_changes_its_buffers():
    assert proves(Normed(), X)
    assert 'p["layers"][n] = layer(p["layers"][n], x' in source(Normed(), X)
    assert 'p["layers"][0]' not in source(nn.Sequential(nn.Linear(4, 4)), X)


class Rows(nn.Module):
    """A module with elements of its own."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))

    def __getitem__(self, key):
        return self.weight[key] * 2


class Picks(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = Rows()

    def forward(self, x):
        return x @ self.rows[1:3].T + self.rows[0, :2]


def test_an_element_of_a_module_is_what_its_class_defines():
    assert agrees(Picks(), X)
    assert not agrees(Picks(), X, without="* 2", instead="* 3")


class Parts(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.LayerNorm(4), nn.SiLU(), nn.Linear(4, 4))

    def forward(self, x):
        rest, last = self.layers[:-1], self.layers[-1]
        later = self.layers[1:][1:]  # pyright: ignore[reportIndexIssue]
        return last(rest(x)) + later(x)


def test_a_slice_of_a_sequential_is_called_as_a_sequential():
    assert proves(Parts(), np.ones((3, 4), np.float32))
