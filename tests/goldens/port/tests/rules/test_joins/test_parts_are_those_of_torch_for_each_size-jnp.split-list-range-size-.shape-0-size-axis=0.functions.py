"""JAX port of Parts (rules/test_joins.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def parts(p, x):
    """Parts (rules/test_joins.py:0): x (N, 4) -> (N, 6).

    JAX unrolls `for n, h in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """
    x = enumerate(function(F.linear(x, **p["fc"])))
    return jnp.concatenate([h * (n + 1) for n, h in x], axis=0)


def function(x):
    """<lambda> (rules/test_joins.py:0): x (N, 6) -> (N', 6), (N', 6), (N'', 6)."""
    size = -(-x.shape[0] // 3)
    return jnp.split(x, list(range(size, x.shape[0], size)), axis=0)
