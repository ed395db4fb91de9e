"""JAX port of Jitter (rules/test_random.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def jitter(p, x, *, rng):
    """Jitter (rules/test_random.py:0): x (N, 4) -> (N, 4)."""
    y = jax.random.uniform(rng, x.shape, x.dtype, minval=0.5, maxval=1.5)
    return F.linear(x * y, **p["fc"])
