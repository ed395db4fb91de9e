"""JAX port of Contracted (rules/test_mathematics.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def contracted(p, x):
    """The operands of `einsum` are a list, as older programs write it.

    Contracted (rules/test_mathematics.py:0): x (N, 4) -> (N, N).
    """
    h = F.linear(x, **p["fc"])
    return jnp.einsum("ni,mi->nm", h, x)
