"""JAX port of Constants (port_collection/operators.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def constants(p, x):
    """Two parts that differ in a constant alone.

    Constants (port_collection/operators.py:0): x (N, 3) -> (N, 3).
    """
    return scaled(p["large"], scaled(p["small"], x, factor=0.5), factor=2.0)


def scaled(p, x, *, factor):
    """Scaled (port_collection/operators.py:0): x (N, 3) -> (N, 3)."""
    return jnp.tanh(F.linear(x, **p["linear"]) * factor) + x
