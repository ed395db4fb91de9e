"""Lambdas and nested functions are written where they are called."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


class Nested(nn.Module):
    """Calls nested functions, one of which reads its argument several times."""

    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        def heads(y):
            return y.reshape(y.shape[0], y.shape[1], 2, 2)

        def flipped(y):
            return y.flip(0)

        return heads(self.query(x)) * heads(flipped(self.key(x)))


def test_an_argument_that_is_read_several_times_is_computed_once():
    """Each layer is applied once, and what is read once gets no name."""
    text = source(Nested(), X)

    assert text.count("F.linear(") == 2, text
    assert '(F.linear(x, **p["key"])' in text, text


def test_a_nested_function_has_torchs_gradients():
    """The port has torch's gradients, and not those of another layer's weights."""
    assert agrees(Nested(), X)
    assert not agrees(Nested(), X, without='p["query"]', instead='p["key"]')
