"""JAX port of Reduced (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- len(parts) == 4 (test_lengths.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def reduced(p, x):
    """Reduced (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4)."""
    x = jnp.unstack(x, axis=1)
    assert len(x) == 4, "this port holds for 4 elements, as in the example"
    y = jnp.tanh(x[0] + F.linear(x[1], **p["linear"])) + F.linear(x[2], **p["linear"])
    return jnp.tanh(jnp.tanh(y) + F.linear(x[3], **p["linear"]))
