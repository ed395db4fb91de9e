"""JAX port of Scaled (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    scale = 1 / math.sqrt(18)
    return F.linear(x, **p["fc"]) * scale + scale

# ---- the next port of this test ----
"""JAX port of Scaled (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

from jaxgrad import functional

F = functional.at("2.13")


def scaled(p, x):
    """Scaled (merging/test_numbers.py:0): x (N, L, 8) -> (N, L, 8)."""
    scale = 1 / math.sqrt(18)
    return F.linear(x, **p["fc"]) * scale + scale
