"""Operators on tensors: some change nothing, and some read their number from a shape."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)

    def forward(self, x):
        seen = 0
        at = torch.arange(x.shape[1]) + seen
        return x * (self.embed(at) + 0)


def test_nothing_is_added_to_integers():
    """A floating sum stays, because it turns -0.0 into 0.0."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    text = source(Positions(), x)
    assert "jnp.arange(x.shape[1])\n" in text and '**p["embed"]) + 0)' in text
    assert agrees(Positions(), x)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k = nn.Linear(4, 6), nn.Linear(4, 6)
        self.scale = 6**-0.5

    def forward(self, x):
        q, k = self.q(x), self.k(x)
        scores = q @ k.transpose(1, 2) * self.scale
        return (q * self.scale) @ k.transpose(1, 2) + scores / 6**0.5 + self.scale * scores


def test_the_root_of_the_number_of_features_is_read_from_the_array():
    """Where no array in the expression has as many features, the number stays."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    text = source(Scaled(), x)
    assert "q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5" in text
    assert "(q * q.shape[-1] ** -0.5) @ " in text and "scores / 6**0.5" in text
    assert agrees(Scaled(), x)
