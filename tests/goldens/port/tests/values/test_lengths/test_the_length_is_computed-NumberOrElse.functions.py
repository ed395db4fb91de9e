"""JAX port of NumberOrElse (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def number_or_else(p, x):
    """NumberOrElse (values/test_lengths.py:0): x (N, L, 4) -> (N, L, 4)."""
    extra = x.shape[1] - 4 or 7
    return F.linear(x, **p["linear"]) * extra * (x.shape[1] // 4 or 1)
