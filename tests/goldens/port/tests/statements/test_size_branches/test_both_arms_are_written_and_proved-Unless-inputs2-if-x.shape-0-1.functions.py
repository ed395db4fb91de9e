"""JAX port of Unless (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def unless(p, x):
    """Unless (statements/test_size_branches.py:0): x (N, L, 4) -> (N, L, 4)."""
    if x.shape[0] > 1:
        scale = 1.0
    else:
        scale = x.shape[1] / 2
    return F.linear(x, **p["linear"]) * scale
