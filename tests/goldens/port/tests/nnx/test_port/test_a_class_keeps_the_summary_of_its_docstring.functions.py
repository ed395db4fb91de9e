"""JAX port of Documented (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def documented(p, x):
    """Adds a residual.

    Documented (nnx/test_port.py:0): x (N, 3) -> (N, 3).
    """
    return x + F.linear(x, **p["fc"])
