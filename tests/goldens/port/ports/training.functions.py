"""JAX port of Net (ports/training.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def net(p, x):
    """Net (ports/training.py:0): x (N, 3) -> (N,)."""
    x = F.layer_norm(F.linear(x, **p["inner"]), (4,), **p["norm"])
    return F.linear(jnp.tanh(x), **p["outer"]).squeeze(axis=-1)
