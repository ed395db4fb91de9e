"""JAX port of Delegates (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def delegates(p, picture):
    """Worker.__call__ (interpretation/test_interpretation.py:0): picture (N, 3) -> (N, 3)."""
    return F.linear(picture, **p["inner"]) * 2

# ---- the next port of this test ----
"""JAX port of Delegates (interpretation/test_interpretation.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def delegates(p, picture):
    """Worker.__call__ (interpretation/test_interpretation.py:0): picture (N, 3) -> (N, 3)."""
    return F.linear(picture, **p["inner"]) * 2
