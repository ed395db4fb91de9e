"""JAX port of Reader (modules/test_recurrent_modules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def reader(p, x, start):
    """Reader (modules/test_recurrent_modules.py:0).

    x (N, 4), start [(L, 5), (M, 5)] -> (N, 10), [(4, 5), (4, 5)].
    """

    def scan(suffix, state, x, reverse=False):
        weights = [
            p["rnn"][name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.lstm_cell(x_t, state, *weights)
            return state, state[0]

        return lax.scan(step, state, x, reverse=reverse)

    end_l0, out_l0 = scan("l0", (start[0][0], start[1][0]), x)
    end_l0_reverse, out_l0_reverse = scan("l0_reverse", (start[0][1], start[1][1]), x, reverse=True)
    x = jnp.concatenate([out_l0, out_l0_reverse], axis=-1)
    end_l1, out_l1 = scan("l1", (start[0][2], start[1][2]), x)
    end_l1_reverse, out_l1_reverse = scan("l1_reverse", (start[0][3], start[1][3]), x, reverse=True)
    x = jnp.concatenate([out_l1, out_l1_reverse], axis=-1)
    hidden, cell = zip(end_l0, end_l0_reverse, end_l1, end_l1_reverse)
    return x, (jnp.stack(hidden), jnp.stack(cell))
