"""Operators on tensors, of which some change nothing."""

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
