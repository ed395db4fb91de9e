"""JAX port of Policy (functions/test_made_objects.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, x):
    """Policy (functions/test_made_objects.py:0): x (N, 4) -> (N, 4)."""
    mean = F.linear(x, **p["fc"])
    scale = jnp.ones_like(mean) * 2
    loc, scale = jnp.broadcast_arrays(mean, scale)
    return log_prob(x, loc, scale)[:, None] + mean_forward(loc)


def log_prob(x, normal_loc, normal_scale):
    """Spread.log_prob (functions/test_made_objects.py:0).

    x (N, 4), normal_loc (N, 4), normal_scale (N, 4) -> (N,).
    """
    var = normal_scale**2
    log_scale = jnp.log(normal_scale)
    x = -((x - normal_loc) ** 2) / (2 * var) - log_scale
    return (x - math.log(math.sqrt(2 * math.pi))).sum(axis=-1)


def mean_forward(normal_loc):
    """Policy.mean (functions/test_made_objects.py:0): normal_loc (N, 4) -> (N, 4)."""
    return normal_loc
