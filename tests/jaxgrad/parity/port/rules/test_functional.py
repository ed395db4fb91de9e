"""Operators that are functions of `jaxgrad.functional`."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        chosen = torch.zeros_like(h).scatter_(1, h.argmax(1, keepdim=True), value=1)
        return h * chosen


def test_scatter_of_one_number():
    assert agrees(Chosen(), X)
