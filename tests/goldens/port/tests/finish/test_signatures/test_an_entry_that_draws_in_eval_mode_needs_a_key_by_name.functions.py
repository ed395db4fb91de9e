"""JAX port of Noisy (finish/test_signatures.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax


def noisy(p, x, *, rng):
    """Noisy (finish/test_signatures.py:0): x (N, L) -> (N, L)."""
    return x + jax.random.normal(rng, x.shape, x.dtype)
