"""JAX port of Others (nnx/test_submodules.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def others(p, x):
    """Others (nnx/test_submodules.py:0): x (N, 4) -> (N, 5)."""
    return other(p["second"], other(p["first"], x))


def other(p, x):
    """The submodule is added in one module and multiplied in the other.

    Other (nnx/test_submodules.py:0): x (N, D) -> (N, 5).
    """
    y = F.linear(x, **p["lin"])
    if "gate" in p:
        return y * F.linear(x, **p["gate"])
    return y
