"""Python's own functions on sizes, configuration and modules."""

import math

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Calls(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        chosen = set(self.layers[:1])
        found = torch.jit.annotate(list[torch.Tensor], [])
        for layer in self.layers:
            if layer in chosen:
                found.append(layer(x))
        h = found[0][slice(0, x.shape[0] - 1)]
        if (x.shape[0] / 3).is_integer() and not math.isnan(x.shape[0] / 2):
            return h * 2
        return h


def test_sets_slices_and_numbers():
    text = source(Calls(), X)
    assert "is_integer()" in text and "x.shape[0] - 1" in text
    assert agrees(Calls(), X)


class Broadcast(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        shape = torch.broadcast_shapes(h.shape[:1], (1,))
        return h.mean(0).expand((*shape, 4)) * h + sum(torch.broadcast_shapes((2, 1), (3,)))


def test_the_shape_that_shapes_broadcast_to_is_computed():
    assert agrees(Broadcast(), X)
    assert "jnp.broadcast_shapes" in source(Broadcast(), X)
