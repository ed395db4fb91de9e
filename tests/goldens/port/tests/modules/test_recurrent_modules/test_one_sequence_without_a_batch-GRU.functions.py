"""JAX port of Reader (modules/test_recurrent_modules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def reader(p, x):
    """Reader (modules/test_recurrent_modules.py:0): x (N, 4) -> (N, 5), (1, 5)."""
    start = jnp.zeros((p["rnn"]["weight_hh_l0"].shape[-1],), x.dtype)

    def step(state, x_t):
        state = F.gru_cell(
            x_t,
            state,
            p["rnn"]["weight_ih_l0"],
            p["rnn"]["weight_hh_l0"],
            p["rnn"]["bias_ih_l0"],
            p["rnn"]["bias_hh_l0"],
        )
        return state, state

    last, x = lax.scan(step, start, x)
    return x, last[None]
