"""Augmented assignments evaluate their target once."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Counted(nn.Module):
    """The target of an assignment is computed by a function that counts its calls."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h, calls = self.fc(x), []

        def copied():
            calls.append(1)
            return h + 0.0

        copied()[0] += 1.0
        return h * len(calls)


def test_a_call_in_the_target_is_made_once():
    """The port multiplies by one call, as torch does."""
    assert agrees(Counted(), X)
