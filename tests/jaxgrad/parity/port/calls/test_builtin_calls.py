"""Python's own functions on sizes, configuration and modules."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
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


class Compared(nn.Module):
    def __init__(self, other):
        super().__init__()
        self.fc, self.other = nn.Linear(4, 4), other

    def forward(self, x):
        return self.fc(x) if torch.equal(x, self.other(x)) else x


def test_equal_is_known_for_one_tensor_and_for_different_shapes():
    assert "F.linear" in source(Compared(lambda x: x), X)
    assert "F.linear" not in source(Compared(lambda x: x[:1]), X)
    with pytest.raises(PortError, match="torch.equal depends on the values of tensors"):
        source(Compared(torch.sin), X)


class Resized(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        wide = nn.functional.upsample_bilinear(self.fc(x), size=(5, 6))
        return wide.sum() + nn.functional.upsample_nearest(x, scale_factor=2)


@pytest.mark.filterwarnings("ignore:.*upsample.*deprecated")
def test_old_names_of_interpolate():
    assert agrees(Resized(), X[None, None])
