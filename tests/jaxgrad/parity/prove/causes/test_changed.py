"""A difference inside attention or a recurrent layer is located at its part."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from jax import lax
from torch import nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(self.rnn(x)[0])


def recurrent(
    gate: Callable[[Any], Any] = jax.nn.sigmoid, new: Callable[[Any], Any] = jnp.tanh
) -> Report:
    torch.manual_seed(0)
    module = Recurrent()

    def apply(p: Any, x: Any) -> Any:
        def step(h: Any, xt: Any) -> Any:
            i = jnp.split(xt @ p["rnn.weight_ih_l0"].T + p["rnn.bias_ih_l0"], 3, -1)
            s = jnp.split(h @ p["rnn.weight_hh_l0"].T + p["rnn.bias_hh_l0"], 3, -1)
            r, z = jax.nn.sigmoid(i[0] + s[0]), gate(i[1] + s[1])
            n = new(i[2] + r * s[2])
            h = (1 - z) * n + z * h
            return h, h

        ys = lax.scan(step, jnp.zeros((len(x), 4), x.dtype), x.swapaxes(0, 1))[1]
        return ys.swapaxes(0, 1) @ p["out.weight"].T + p["out.bias"]

    return prove(module, apply, arrays(module), (draw(2, 3, 3),))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"gate": lambda x: jax.nn.sigmoid(1.1 * x)}, "the update gate of layer 0 at step 0"),
        ({"new": lambda x: jnp.tanh(1.1 * x)}, "the new gate of layer 0 at step 0"),
    ],
)
def test_a_wrong_gate_is_located(changes, part):
    """A gate whose operand is multiplied by a number is named with its layer and step."""
    first = recurrent(**changes).first

    assert first is not None
    assert (first.torch, first.op) == ("rnn", part)
    assert first.cause.startswith("JAX's value is torch's times 1.1 (scaling it in torch ")


def test_a_correct_gru_passes():
    """The same port with torch's functions passes."""
    recurrent().check()


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, q, k, v):
        return functional.scaled_dot_product_attention(self.query(q), k, v, is_causal=True)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("softmax", "bias", "part"),
    [
        (lambda s: jax.nn.softmax(1.1 * s), 0.0, "the attention weights"),
        (jax.nn.softmax, 0.1, "the masked scores"),
    ],
)
def test_a_wrong_part_of_attention_is_located(softmax, bias, part):
    """The mask and the softmax of attention are told apart where no known mistake explains them."""

    def apply(p: Any, q: Any, k: Any, v: Any) -> Any:
        scores = (q @ p["query.weight"].T + p["query.bias"]) @ k.swapaxes(-1, -2) / 2
        keep = jnp.tril(jnp.ones((3, 3), bool))
        distance = bias * jnp.abs(jnp.arange(3)[:, None] - jnp.arange(3))
        return softmax(jnp.where(keep, scores + distance, -jnp.inf)) @ v

    torch.manual_seed(0)
    module = Attention()
    first = prove(module, apply, arrays(module), tuple(draw(3, 2, 3, 4))).first

    assert first is not None
    assert (first.torch, first.op) == ("(root)", part)
