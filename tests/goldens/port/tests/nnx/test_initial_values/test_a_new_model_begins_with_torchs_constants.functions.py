"""JAX port of Constants (nnx/test_initial_values.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: project, table.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def constants(p, x):
    """A module that fills parameters of its layers, and has a table.

    Constants (nnx/test_initial_values.py:0): x (N, 3) -> (N, 3).
    """
    y = head(p["head"], F.layer_norm(F.linear(x, **p["fc"]), (4,), **p["norm"]))
    x = y + scale(p["first"], x) * scale(p["second"], p["project"])
    return x + p["table"][:3] + p["embed"]


def head(p, x):
    """Constants.head (nnx/test_initial_values.py:0): x (N, 4) -> (N, 3)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])


def scale(p, x):
    """Scale (nnx/test_initial_values.py:0)."""
    return x * p["scale"]
