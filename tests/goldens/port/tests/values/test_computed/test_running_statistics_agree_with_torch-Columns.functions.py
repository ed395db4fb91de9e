"""JAX port of Columns (values/test_computed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def columns(p, x, y):
    """Columns (values/test_computed.py:0): x (N, L), y (N, L) -> (2*N, 5), (2*N, L)."""
    outs = [(F.linear(x[:, :2], **p["c"]), x), (F.linear(y[:, :2], **p["c"]), y)]
    return [jnp.concatenate(v, axis=0) for v in zip(*outs)]
