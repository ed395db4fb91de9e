"""JAX port of Steps (functions/test_parameters.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def steps(p, y):
    """Steps (functions/test_parameters.py:0): y (N, 4) -> (N, 4)."""
    return rk_step(p["net"], rk_step(p["net"], y, h=0.5), h=0.25)


def rk_step(p, y, *, h):
    """rk_step (functions/test_parameters.py:0): y (N, 4) -> (N, 4)."""
    return y + h * F.linear(y, **p)
