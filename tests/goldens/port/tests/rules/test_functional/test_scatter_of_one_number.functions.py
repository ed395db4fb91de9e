"""JAX port of Chosen (rules/test_functional.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def chosen_forward(p, x):
    """Chosen (rules/test_functional.py:0): x (N, 4) -> (N, 4)."""
    h = F.linear(x, **p["fc"])
    chosen = F.scatter(jnp.zeros_like(h), 1, h.argmax(axis=1, keepdims=True), 1)
    return h * chosen
