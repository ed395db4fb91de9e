"""JAX port of Packed (calls/test_packing.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the longest sequence has all 5 steps (test_packing.py:0)
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def packed_forward(p, x, lengths):
    """Packed (calls/test_packing.py:0).

    x (N, L, 3), lengths (N,) int -> out (N, L, 2), state [(1, N, 4), (1, N, 4)], lengths (N,)
    int.
    """
    packed = x
    packed, state = lstm(p["rnn"], packed, lengths)
    out = jnp.where(jnp.arange(packed.shape[1])[:, None] < lengths[:, None, None], packed, 0.0)
    lengths = lengths
    return F.linear(out, **p["out"]), state, lengths


def lstm(p, x, lengths):
    """torch.nn.LSTM: x (N, L, 3), lengths (N,) int -> (N, L, 4), [(1, N, 4), (1, N, 4)]."""
    x = x.swapaxes(0, 1)
    exists = jnp.arange(x.shape[0])[:, None] < lengths
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, inputs):
        x_t, exists = inputs
        new = F.lstm_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        state = jax.tree.map(lambda n, s: jnp.where(exists[:, None], n, s), new, state)
        return state, state[0]

    last, x = lax.scan(step, start, (x, exists))
    x = x.swapaxes(0, 1)
    hidden, cell = last
    return x, (hidden[None], cell[None])
