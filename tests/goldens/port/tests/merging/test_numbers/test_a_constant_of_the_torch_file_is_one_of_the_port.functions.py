"""JAX port of Constants (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")

SLOPE = 0.2
WIDTH = 8


def constants(p, x):
    """Constants (merging/test_numbers.py:0): x (N, L, D) -> (N, L, D)."""
    return F.leaky_relu(x, negative_slope=SLOPE) * WIDTH**-0.5 / (WIDTH - 2)

# ---- the next port of this test ----
"""JAX port of Constants (merging/test_numbers.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")

SLOPE = 0.2
WIDTH = 8


def constants(p, x):
    """Constants (merging/test_numbers.py:0): x (N, L, D) -> (N, L, D)."""
    return F.leaky_relu(x, negative_slope=SLOPE) * WIDTH**-0.5 / (WIDTH - 2)
