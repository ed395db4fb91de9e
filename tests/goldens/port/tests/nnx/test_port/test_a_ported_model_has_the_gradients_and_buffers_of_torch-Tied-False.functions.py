"""JAX port of Tied (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def tied(p, x):
    """Tied (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    p = jax.tree.map(lambda x: x, p)
    p["down"]["weight"] = p["up"]["weight"]  # tied
    p["again"] = {"weight": p["up"]["weight"]}  # tied
    p["again"]["bias"] = p["up"]["bias"]  # tied
    return F.linear(jnp.tanh(F.linear(F.linear(x, **p["up"]), **p["down"])), **p["again"])
