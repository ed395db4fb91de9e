"""Operators that read or write parts of a tensor."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Distances(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        return (h @ h.T).fill_diagonal_(0)


def test_the_diagonal_is_filled():
    assert agrees(Distances(), X)
