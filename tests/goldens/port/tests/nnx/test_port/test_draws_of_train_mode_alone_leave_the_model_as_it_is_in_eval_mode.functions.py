"""JAX port of Noisy (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def noisy(p, x, *, rng=None, training=False):
    """Noisy (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    if training:
        x = x + jax.random.normal(rng, x.shape, x.dtype)
    return F.linear(x, **p["fc"])
