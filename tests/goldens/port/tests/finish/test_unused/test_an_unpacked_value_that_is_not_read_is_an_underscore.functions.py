"""JAX port of Last (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def last_forward(p, x):
    """Last (finish/test_unused.py:0): x (batch, L, 3) -> out (batch, 4*L), h (1, batch, 4)."""
    batch, _, _ = x.shape
    out, (h, _) = lstm(p["lstm"], x)
    return out.reshape(batch, -1), h


def lstm(p, x):
    """torch.nn.LSTM: x (batch, L, 3) -> (batch, L, 4), [(1, batch, 4), (1, batch, 4)]."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.lstm_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state[0]

    last, x = lax.scan(step, start, x)
    x = x.swapaxes(0, 1)
    hidden, cell = last
    return x, (hidden[None], cell[None])

# ---- the next port of this test ----
"""JAX port of Total (finish/test_unused.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def total(p, x):
    """Total (finish/test_unused.py:0): x (batch, L, 3) -> (1, batch, 4)."""
    return last_forward(p, x)[1]


def last_forward(p, x):
    """Last (finish/test_unused.py:0): x (batch, L, 3) -> out (batch, 4*L), h (1, batch, 4)."""
    batch, _, _ = x.shape
    out, (h, _) = lstm(p["lstm"], x)
    return out.reshape(batch, -1), h


def lstm(p, x):
    """torch.nn.LSTM: x (batch, L, 3) -> (batch, L, 4), [(1, batch, 4), (1, batch, 4)]."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def step(state, x_t):
        state = F.lstm_cell(
            x_t, state, p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"], p["bias_hh_l0"]
        )
        return state, state[0]

    last, x = lax.scan(step, start, x)
    x = x.swapaxes(0, 1)
    hidden, cell = last
    return x, (hidden[None], cell[None])
