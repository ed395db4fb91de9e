"""JAX port of EachChunk (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def each_chunk(p, x):
    """EachChunk (values/test_lengths.py:0): x (N, L, 4) -> (3, N, 4).

    JAX unrolls `for part in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    size = -(-x.shape[1] // 3)
    x = jnp.split(x, list(range(size, x.shape[1], size)), axis=1)
    return jnp.stack([F.linear(part, **p["linear"]).sum(axis=1) for part in x])
