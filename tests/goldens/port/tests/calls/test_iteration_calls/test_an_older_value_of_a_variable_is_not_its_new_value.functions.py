"""JAX port of Aliased (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def aliased(p, x):
    """Aliased (calls/test_iteration_calls.py:0): x (N, L, 3) -> (N, 3)."""
    total = 1.0 + F.linear(x[:, 0], **p["linear"])
    x = x * 1.0
    old = total
    total = total + F.linear(x[:, 1], **p["linear"])
    x = x * old[:, None]
    old = total
    total = total + F.linear(x[:, 2], **p["linear"])
    x = x * old[:, None]
    return x.sum(axis=1) + total
