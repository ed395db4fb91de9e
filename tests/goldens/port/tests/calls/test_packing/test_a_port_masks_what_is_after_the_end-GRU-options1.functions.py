"""JAX port of Packed (calls/test_packing.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the longest sequence has all 5 steps (test_packing.py:0)
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def packed_forward(p, x, lengths):
    """Packed (calls/test_packing.py:0).

    x (N, L, 3), lengths (L,) int -> out (N, L, 2), state (2, L, 4), lengths (L,) int.
    """
    packed = x
    packed, state = gru(p["rnn"], packed, lengths)
    out = jnp.where(jnp.arange(packed.shape[0])[:, None, None] < lengths[:, None], packed, 0.0)
    lengths = lengths
    return F.linear(out, **p["out"]), state, lengths


def gru(p, x, lengths):
    """torch.nn.GRU: x (N, L, 3), lengths (L,) int -> (N, L, 8), (2, L, 4)."""
    exists = jnp.arange(x.shape[0])[:, None] < lengths
    start = jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x, reverse=False):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, inputs):
            x_t, exists = inputs
            new = F.gru_cell(x_t, state, *weights)
            state = jnp.where(exists[:, None], new, state)
            return state, state

        return lax.scan(step, state, (x, exists), reverse=reverse)

    end_l0, out_l0 = scan("l0", start[0], x)
    end_l0_reverse, out_l0_reverse = scan("l0_reverse", start[1], x, reverse=True)
    return jnp.concatenate([out_l0, out_l0_reverse], axis=-1), jnp.stack([end_l0, end_l0_reverse])
