"""JAX port of Factor (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def factor(p, x):
    """Factor (statements/test_size_branches.py:0): x (N, L, 4) -> (N, 4)."""
    y = F.linear(x, **p["linear"]) * (x.shape[1] / 2 if x.shape[0] > 1 else 3.0)
    return y.sum(axis=1) if y.shape[0] > 1 else y.mean(axis=1)
