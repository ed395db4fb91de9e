"""JAX port of Kind (port/test_leftovers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def a_list(p, x):
    """Kind.a_list (port/test_leftovers.py:0): x (N, 3) -> (N, 2), (N, 2)."""
    y = F.linear(x, **p["fc"])
    return [y, y * 2]
