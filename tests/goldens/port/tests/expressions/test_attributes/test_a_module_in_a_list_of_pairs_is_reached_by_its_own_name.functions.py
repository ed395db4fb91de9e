"""JAX port of Paired (expressions/test_attributes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def paired(p, x):
    """The modules are also in a list of pairs, each with a number.

    Paired (expressions/test_attributes.py:0): x (N, 3) -> (N, 3).
    """
    x = F.linear(x, **p["layers"][0]) * 2.0
    return F.linear(x, **p["layers"][1]) * 3.0
