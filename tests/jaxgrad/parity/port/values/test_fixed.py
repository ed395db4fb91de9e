"""The marks of a run say which tensors depend on sizes, or on buffers, alone."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import proves


class Shared(nn.Module):
    """One tensor is a buffer with two names, as in a flow that shares its mask."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        mask = torch.tensor([1.0, 0.0, 1.0])
        self.register_buffer("mask", mask)
        self.register_buffer("again", mask)

    def forward(self, x):
        return self.fc(x * self.mask) + self.again


def test_a_buffer_may_have_two_names():
    """The mark that a run leaves on a buffer is removed once."""
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    module = Shared()
    assert proves(module, x)
    assert not hasattr(module.mask, "_depends_on_buffers")
