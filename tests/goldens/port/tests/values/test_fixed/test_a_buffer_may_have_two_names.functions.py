"""JAX port of Shared (values/test_fixed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: mask.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def shared(p, x):
    """One tensor is a buffer with two names, as in a flow that shares its mask.

    Shared (values/test_fixed.py:0): x (N, 3) -> (N, 3).
    """
    return F.linear(x * p["mask"], **p["fc"]) + p["mask"]  # tied
