"""JAX port of Counted (statements/test_augmented.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def counted(p, x):
    """The target of an assignment is computed by a function that counts its calls.

    Counted (statements/test_augmented.py:0): x (N, 4) -> (N, 4).
    """
    h = F.linear(x, **p["fc"])
    return h * 1
