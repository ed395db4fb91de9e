"""JAX port of Recurrent (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def recurrent(p, x):
    """Recurrent (port_collection/operators.py:0): x (N, L, 3) -> (N, 4)."""
    out, hidden = gru(p["rnn"], x)
    return out.sum(axis=1) + jnp.tile(hidden.sum(axis=0), (1, 2))


def gru(p, x):
    """torch.nn.GRU: x (N, L, 3) -> (N, L, 4), (4, N, 2)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((4, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x, reverse=False):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.gru_cell(x_t, state, *weights)
            return state, state

        return lax.scan(step, state, x, reverse=reverse)

    end_l0, out_l0 = scan("l0", start[0], x)
    end_l0_reverse, out_l0_reverse = scan("l0_reverse", start[1], x, reverse=True)
    x = jnp.concatenate([out_l0, out_l0_reverse], axis=-1)
    end_l1, out_l1 = scan("l1", start[2], x)
    end_l1_reverse, out_l1_reverse = scan("l1_reverse", start[3], x, reverse=True)
    x = jnp.concatenate([out_l1, out_l1_reverse], axis=-1)
    return x.swapaxes(0, 1), jnp.stack([end_l0, end_l0_reverse, end_l1, end_l1_reverse])
