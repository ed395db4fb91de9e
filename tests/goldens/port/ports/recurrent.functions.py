"""JAX port of Encoder (ports/recurrent.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def encoder(p, x):
    """Encoder (ports/recurrent.py:0): x (N, L, 3) -> out (N, L), last (2, N, 4)."""
    start = jnp.broadcast_to(p["start"], (p["start"].shape[0], x.shape[0], p["start"].shape[2]))
    out, last = gru(p["gru"], x, start)
    return F.linear(out, **p["out"]).squeeze(axis=-1), last


def gru(p, x, start):
    """torch.nn.GRU: x (N, L, 3), start (2, N, 4) -> (N, L, 8), (2, N, 4)."""
    x = x.swapaxes(0, 1)

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
    return x.swapaxes(0, 1), jnp.stack([end_l0, end_l0_reverse])
