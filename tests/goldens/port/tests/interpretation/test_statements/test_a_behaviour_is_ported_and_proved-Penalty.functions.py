"""JAX port of Penalty (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def penalty(p, x):
    """A gradient inside of the module.

    Penalty (interpretation/test_statements.py:0): x (N, 4) -> ().
    """
    x = lax.stop_gradient(x)
    score = score_forward(p["score"], x)
    ones = jnp.ones_like(score)
    (slope,) = jax.vjp(lambda x: score_forward(p["score"], x), x)[1](ones)
    return score.mean() + ((F.norm(slope, dim=1) - 1) ** 2).mean()


def score_forward(p, x):
    """Penalty.score (interpretation/test_statements.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])
