"""JAX port of Unused (values/test_params.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def unused(p, x):
    """It has a table that no output depends on.

    Unused (values/test_params.py:0): x (N, 4) -> (N, 3).
    """
    return F.linear(x, p["weight"], p["bias"])
