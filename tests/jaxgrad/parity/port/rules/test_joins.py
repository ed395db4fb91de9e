"""Operators that join tensors."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return torch.cat([torch.tensor([]), self.fc(x), x], dim=-1)


def test_a_tensor_without_elements_and_dimensions_is_skipped():
    assert agrees(Joined(), X)
