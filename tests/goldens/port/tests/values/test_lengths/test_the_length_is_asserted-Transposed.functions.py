"""JAX port of Transposed (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 4 times (test_lengths.py:0)
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def transposed(p, x):
    """Transposed (values/test_lengths.py:0): x (N, 4, 4) -> (N, 4)."""
    assert len(jnp.unstack(x, axis=1)) == 4, (
        "this port holds for a loop that runs 4 times, as in the example"
    )
    pairs = [
        (F.linear(jnp.unstack(x, axis=1)[0], **p["linear"]), jnp.unstack(x, axis=1)[0] * 2),
        (F.linear(jnp.unstack(x, axis=1)[1], **p["linear"]), jnp.unstack(x, axis=1)[1] * 2),
        (F.linear(jnp.unstack(x, axis=1)[2], **p["linear"]), jnp.unstack(x, axis=1)[2] * 2),
        (F.linear(jnp.unstack(x, axis=1)[3], **p["linear"]), jnp.unstack(x, axis=1)[3] * 2),
    ]
    left, _ = zip(*pairs, strict=True)
    return left[0] * 4
