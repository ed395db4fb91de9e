"""A generator of a module is a function that returns a list."""

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Yields(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def pieces(self, x):
        for n in range(2):
            yield self.linear(x) * (n + 1)
        yield from (x, torch.tanh(self.linear(x)))

    def forward(self, x):
        return sum(self.pieces(x))


def test_a_generator_returns_a_list():
    text = source(Yields(), X)
    assert "items.append(" in text
    assert "items.extend(" in text
    assert "return items" in text
    assert agrees(Yields(), X)


class Received(Yields):
    def pieces(self, x):
        answer = yield self.linear(x)
        yield x if answer is None else answer


def test_a_generator_that_receives_values_is_refused():
    with pytest.raises(PortError, match="a generator is not ported"):
        port(Received(), (X,), prove=False)
