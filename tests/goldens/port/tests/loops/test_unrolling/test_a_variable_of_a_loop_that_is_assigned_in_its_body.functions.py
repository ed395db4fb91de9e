"""JAX port of Reassigned (loops/test_unrolling.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def reassigned(p, x):
    """The body gives the variable of the loop another value; the layers differ.

    Reassigned (loops/test_unrolling.py:0): x (N, 4) -> ().
    """
    part = jnp.sin(x)
    part = F.linear(part, **p["layers"][0])
    found = (part,)
    part = jnp.cos(x)
    part = F.linear(part, **p["layers"][1])
    found = found[0], part
    last = part
    return jnp.concatenate(found, axis=1).sum() + jnp.exp(last).sum() + part.sum()
