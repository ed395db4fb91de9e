"""JAX port of Kept (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def kept(p, x):
    """Kept (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    drop_prob = 1 / 30
    keep_prob = 1 - drop_prob
    shift = jnp.floor(x + keep_prob)
    return x * p["weight"] / keep_prob * shift

# ---- the next port of this test ----
"""JAX port of Kept (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def kept(p, x):
    """Kept (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    drop_prob = 1 / 30
    keep_prob = 1 - drop_prob
    shift = jnp.floor(x + keep_prob)
    return x * p["weight"] / keep_prob * shift
