"""JAX port of Drops (functions/test_borrowed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def drops(p, x):
    """A function deletes the first element of its caller's list.

    Drops (functions/test_borrowed.py:0): x (N, 4) -> (N, 4).
    """
    parts = [F.linear(x, **p["fc"]), F.linear(2 * x, **p["fc"]), 3 * F.linear(x * x, **p["fc"])]
    return (parts[1] + parts[2]) * 2
