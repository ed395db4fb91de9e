"""JAX port of LSTM (torch.nn.modules.rnn), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


class LSTM(nnx.Module):
    """torch.nn.LSTM.

    `jaxgrad.nnx.load_state_dict` sets `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`,
    `bias_hh_l0`, `weight_ih_l1`, `weight_hh_l1`, `bias_ih_l1` and `bias_hh_l1`, which the
    constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.weight_ih_l0 = nnx.Param(jnp.empty((16, 4), jnp.float32))
        self.weight_hh_l0 = nnx.Param(jnp.empty((16, 4), jnp.float32))
        self.bias_ih_l0 = nnx.Param(jnp.empty(16, jnp.float32))
        self.bias_hh_l0 = nnx.Param(jnp.empty(16, jnp.float32))
        self.weight_ih_l1 = nnx.Param(jnp.empty((16, 4), jnp.float32))
        self.weight_hh_l1 = nnx.Param(jnp.empty((16, 4), jnp.float32))
        self.bias_ih_l1 = nnx.Param(jnp.empty(16, jnp.float32))
        self.bias_hh_l1 = nnx.Param(jnp.empty(16, jnp.float32))


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)


def lstm(module, x, *, rng=None, training=False):
    """torch.nn.LSTM."""
    start = jnp.zeros((2, x.shape[1], module["weight_hh_l0"].shape[-1]), x.dtype), jnp.zeros(
        (2, x.shape[1], module["weight_hh_l0"].shape[-1]), x.dtype
    )

    def scan(suffix, state, x):
        weights = [
            module[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.lstm_cell(x_t, state, *weights)
            return state, state[0]

        return lax.scan(step, state, x)

    end_l0, x = scan("l0", (start[0][0], start[1][0]), x)
    rng, dropout_rng = split_rng(rng)
    x = F.dropout(x, 0.1, training=training, key=dropout_rng)
    end_l1, x = scan("l1", (start[0][1], start[1][1]), x)
    hidden, cell = zip(end_l0, end_l1)
    return x, (jnp.stack(hidden), jnp.stack(cell))
