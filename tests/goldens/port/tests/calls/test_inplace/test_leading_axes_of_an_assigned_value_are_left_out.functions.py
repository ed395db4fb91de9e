"""JAX port of Rows (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def rows(p, x):
    """Values with leading axes of size 1 are put where torch leaves these axes out.

    Rows (calls/test_inplace.py:0): x (N, L) -> (N, L).
    """
    out = jnp.zeros_like(x)
    out = out.at[0].set(x.sum(axis=0, keepdims=True)[0])
    out = out.at[1, 1:].set((x[:1, None, 1:] * 2)[0, 0])
    return out * x

# ---- the next port of this test ----
"""JAX port of Rows (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp


def rows(p, x):
    """Values with leading axes of size 1 are put where torch leaves these axes out.

    Rows (calls/test_inplace.py:0): x (N, L) -> (N, L).
    """
    out = jnp.zeros_like(x)
    out = out.at[0].set(x.sum(axis=0, keepdims=True)[0])
    out = out.at[1, 1:].set((x[:1, None, 1:] * 2)[0, 0])
    return out * x
