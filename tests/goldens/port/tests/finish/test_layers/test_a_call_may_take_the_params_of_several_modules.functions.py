"""JAX port of Halves (finish/test_layers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def halves(p, x):
    """One layer whose weight and bias are in two modules.

    Halves (finish/test_layers.py:0): x (1, L, 4) -> (1, L, 4).
    """
    return F.linear(x, **p["a"], **p["b"])
