"""Calls of numpy on sizes stay calls, so that the port holds for other sizes."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        grid = torch.tensor(np.linspace(0, 1, x.shape[0]), dtype=torch.float)
        return self.fc(x) * grid[:, None]


def test_a_numpy_grid_depends_on_the_size():
    assert "np.linspace(0, 1, x.shape[0])" in source(Grid(), X)
    assert "import numpy as np" in source(Grid(), X)
    assert agrees(Grid(), X)
