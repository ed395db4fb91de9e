"""Tuples and lists that are made of others."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees


X = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)


class Down(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(count))

    def forward(self, hidden):
        states = ()
        for layer in self.layers:
            hidden = layer(hidden).tanh()
            states = (*states, hidden)
        return hidden, states


class Skips(nn.Module):
    """A network that collects the states of its blocks, as the UNet of diffusers does."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = Down(2), Down(1), Down(1)

    def forward(self, x):
        states = (x,)
        x, more = self.first(x)
        states += more
        x, more = self.second(x)
        states += more
        x, more = self.third(x)
        states = states + more
        return x + states[1] * states[2] + states[3] * states[4]


def test_a_tuple_of_one_state_that_a_function_returns_is_joined():
    """The state is an element of the function's result, not a variable of the function."""
    assert agrees(Skips(), X)
