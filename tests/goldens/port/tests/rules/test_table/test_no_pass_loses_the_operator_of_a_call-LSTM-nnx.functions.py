"""JAX port of LSTM (torch.nn.modules.rnn), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def lstm(p, x, *, rng=None, training=False):
    """torch.nn.LSTM: x (N, L, 4) -> (N, L, 4), [(2, L, 4), (2, L, 4)]."""
    start = jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)
    start = start, jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.lstm_cell(x_t, state, *weights)
            return state, state[0]

        return lax.scan(step, state, x)

    end_l0, x = scan("l0", (start[0][0], start[1][0]), x)
    x = F.dropout(x, 0.1, training=training, key=rng)
    end_l1, x = scan("l1", (start[0][1], start[1][1]), x)
    hidden, cell = zip(end_l0, end_l1)
    return x, (jnp.stack(hidden), jnp.stack(cell))
