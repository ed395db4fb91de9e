"""A branch on the value of a tensor is `lax.cond`, even if one arm returns early."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class ReturnsEarly(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        if h.abs().sum() > 50:
            return h * 2
        h = h * h
        return h + 1


def test_the_statements_after_an_early_return_are_the_other_arm():
    assert "lax.cond" in source(ReturnsEarly(), X)
    assert proves(ReturnsEarly(), X) and proves(ReturnsEarly(), X * 100)
