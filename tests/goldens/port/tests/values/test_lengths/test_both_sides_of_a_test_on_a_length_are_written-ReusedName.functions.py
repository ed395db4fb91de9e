"""JAX port of ReusedName (values/test_lengths.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def reused_name(p, x):
    """ReusedName (values/test_lengths.py:0): x (N, L, D) -> (N, L, D)."""
    for n in range(2):
        x = x + n
    n = x.shape[1]
    return F.linear(x, **p["linear"]) if n == 4 else x
