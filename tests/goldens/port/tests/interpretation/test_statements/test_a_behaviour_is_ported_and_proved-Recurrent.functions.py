"""JAX port of Recurrent (interpretation/test_statements.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def recurrent(p, x):
    """Recurrent layers.

    Recurrent (interpretation/test_statements.py:0): x (N, 4) -> (N, 2, 2).
    """
    y, (h, _) = lstm(p["lstm"], jnp.tile(x[None], (2, 1, 1)))
    return gru(p["gru"], y.swapaxes(0, 1))[0] + h.mean()


def lstm(p, x):
    """torch.nn.LSTM: x (2, N, 4) -> (2, N, 6), [(2, N, 3), (2, N, 3)]."""
    start = jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x, reverse=False):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.lstm_cell(x_t, state, *weights)
            return state, state[0]

        return lax.scan(step, state, x, reverse=reverse)

    end_l0, out_l0 = scan("l0", (start[0][0], start[1][0]), x)
    end_l0_reverse, out_l0_reverse = scan("l0_reverse", (start[0][1], start[1][1]), x, reverse=True)
    x = jnp.concatenate([out_l0, out_l0_reverse], axis=-1)
    hidden, cell = zip(end_l0, end_l0_reverse)
    return x, (jnp.stack(hidden), jnp.stack(cell))


def gru(p, x):
    """torch.nn.GRU: x (N, 2, 6) -> (N, 2, 2), (1, N, 2)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.gru_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state

    last, x = lax.scan(step, start, x)
    return x.swapaxes(0, 1), last[None]
