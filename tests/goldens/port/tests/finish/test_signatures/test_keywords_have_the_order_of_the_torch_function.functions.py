"""JAX port of Timed (finish/test_signatures.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax.numpy as jnp


def timed(p, t, *, width=8, period=100.0):
    """Timed.waves (finish/test_signatures.py:0): t (N,) -> (N, 1)."""
    return jnp.cos(t[:, None] * math.log(period) / width)
