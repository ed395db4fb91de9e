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

    x (N, L, 3), lengths (N,) int -> out (N, L, 2), state [(2, N, 4), (2, N, 4)], lengths (N,)
    int.
    """
    packed = x
    packed, state = lstm(p["rnn"], packed, lengths)
    out = jnp.where(jnp.arange(packed.shape[1])[:, None] < lengths[:, None, None], packed, 0.0)
    lengths = lengths
    return F.linear(out, **p["out"]), state, lengths


def lstm(p, x, lengths):
    """torch.nn.LSTM: x (N, L, 3), lengths (N,) int -> (N, L, 4), [(2, N, 4), (2, N, 4)]."""
    x = x.swapaxes(0, 1)
    exists = jnp.arange(x.shape[0])[:, None] < lengths
    start = jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, inputs):
            x_t, exists = inputs
            new = F.lstm_cell(x_t, state, *weights)
            state = jax.tree.map(lambda n, s: jnp.where(exists[:, None], n, s), new, state)
            return state, state[0]

        return lax.scan(step, state, (x, exists))

    end_l0, x = scan("l0", (start[0][0], start[1][0]), x)
    end_l1, x = scan("l1", (start[0][1], start[1][1]), x)
    x = x.swapaxes(0, 1)
    hidden, cell = zip(end_l0, end_l1)
    return x, (jnp.stack(hidden), jnp.stack(cell))
