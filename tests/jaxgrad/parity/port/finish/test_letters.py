"""Sizes in docstrings have the author's names, or letters."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import source


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, 2), nn.Conv2d(4, 4, 1)

    def forward(self, images):
        batch = images.shape[0]
        x = self.unit(self.first, images)
        mean, std = self.moments(self.unit(self.second, x).reshape(batch, -1))
        return mean / std

    def unit(self, conv, x):
        return torch.tanh(conv(x))

    def moments(self, x):
        return x.mean(1), torch.exp(x.std(1))


def test_sizes_and_results_have_the_authors_names():
    """`batch` is a variable of the author; a size that the function changes has a prime."""
    text = source(Net(), np.ones((2, 3, 9, 9), np.float32))
    assert "images (batch, 3, H, W) -> (batch,)." in text
    assert "-> (batch, 4, H', W')." in text
