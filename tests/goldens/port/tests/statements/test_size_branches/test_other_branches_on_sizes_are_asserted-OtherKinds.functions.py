"""JAX port of OtherKinds (statements/test_size_branches.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- x.shape[0] > 1 (test_size_branches.py:0)
"""

from jaxgrad import functional

F = functional.at("2.13")


def other_kinds(p, x):
    """OtherKinds (statements/test_size_branches.py:0): x (N, L, 4) -> ()."""
    scale = F.linear(x, **p["linear"])
    assert x.shape[0] > 1, (
        "this port holds for x.shape[0] > 1: torch takes another branch otherwise "
        "(test_size_branches.py:0)"
    )
    scale = scale.sum(axis=-1)
    return scale.mean()
