"""JAX port of EvenSizes (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def even_sizes(p, x):
    """EvenSizes (values/test_lengths.py:0): x (N, L, D) -> (N, L, D)."""
    return F.linear(x, **p["linear"]) if all([size % 4 == 0 for size in x.shape[1:]]) else x
