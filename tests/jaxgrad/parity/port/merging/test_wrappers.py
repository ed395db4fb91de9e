"""Short functions of torch are written at their calls."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.head = nn.ReLU(inplace=True), nn.Sequential(nn.Linear(3, 3), nn.Tanh())
        self.body = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.Linear(4, 3), nn.Tanh())

    def forward(self, x):
        return self.encode(self.act(self.head(x) * 1)) + self.act(-x)

    def encode(self, x):
        return self.body(x)


def test_a_layer_of_one_expression_has_no_function():
    """`relu` and a head of two layers are expressions of the caller."""
    text = source(Net(), X)
    assert "def relu" not in text and "def head" not in text
    assert 'jnp.tanh(F.linear(x, **p["head"][0]))' in text
    assert agrees(Net(), X)


def test_a_method_gets_the_statements_of_the_sequence_that_it_calls():
    """The method keeps its name, and the sequence has no function of its own."""
    text = source(Net(), X)
    assert "def encode(p, x):" in text and "def body" not in text
    assert '**p["body"][0])' in text
