"""JAX port of Prior (functions/test_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def prior(p, x):
    """Prior (functions/test_objects.py:0): x (N, 4) -> (N,)."""
    return log_prob(F.linear(x, **p["fc"])).sum(axis=-1)


def log_prob(value):
    """torch.distributions.Normal.log_prob: value (N, 3) -> (N, 3)."""
    var = jnp.array(1.0, dtype=jnp.float32) ** 2
    log_scale = jnp.log(jnp.array(1.0, dtype=jnp.float32))
    return (
        -((value - jnp.array(0.0, dtype=jnp.float32)) ** 2) / (2 * var)
        - log_scale
        - math.log(math.sqrt(2 * math.pi))
    )
