"""A keyword in which copies differ has the default of the constructor."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Unit(nn.Module):
    def __init__(self, gain, power=2):
        super().__init__()
        self.fc, self.gain, self.power = nn.Linear(3, 3), gain, power

    def forward(self, x):
        return self.gain * self.fc(x) ** self.power


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Unit(1.5), Unit(2.5, power=3)

    def forward(self, x):
        return self.second(self.first(x))


def test_a_call_leaves_out_what_the_constructor_was_not_given():
    """`gain` has no default in torch either, and is passed by both calls."""
    text = source(Net(), X)
    assert "def unit(p, x, *, gain, power=2):" in text
    assert 'unit(p["first"], x, gain=1.5)' in text
    assert "gain=2.5, power=3)" in text
    assert agrees(Net(), X)
