"""JAX port of Scaled (calls/test_legacy_tensors.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- count == 2 (test_legacy_tensors.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (calls/test_legacy_tensors.py:0): x (N, 3) -> (N, 2)."""
    scale = jnp.array([1.0, 2.0, 3.0], dtype=jnp.float32) + jnp.array([0.5], dtype=jnp.float32)
    picked = jnp.array([2, 0], dtype=int)
    return (F.linear(x, **p["linear"]) * scale)[:, picked][:, :2]
