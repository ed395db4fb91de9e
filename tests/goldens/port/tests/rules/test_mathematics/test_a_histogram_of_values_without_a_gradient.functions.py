"""JAX port of Counted (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x):
    """The histogram of the outputs is another output, as in a monitored layer.

    Counted (rules/test_mathematics.py:0): x (N, 4) -> (N, 4), h (5,).
    """
    h = F.linear(x, **p["fc"])
    return h * h, jnp.histogram(lax.stop_gradient(h), 5, range=(-1, 1))[0].astype(jnp.float32)
