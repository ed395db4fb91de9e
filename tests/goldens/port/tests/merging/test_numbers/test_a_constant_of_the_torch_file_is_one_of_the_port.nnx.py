"""JAX port of Constants (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")

SLOPE = 0.2
WIDTH = 8


class Constants(nnx.Module):
    """Constants (merging/test_numbers.py:0)."""

    def __call__(self, x):
        return F.leaky_relu(x, negative_slope=SLOPE) * WIDTH**-0.5 / (WIDTH - 2)

# ---- the next port of this test ----
"""JAX port of Constants (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")

SLOPE = 0.2
WIDTH = 8


class Constants(nnx.Module):
    """Constants (merging/test_numbers.py:0)."""

    def __call__(self, x):
        return F.leaky_relu(x, negative_slope=SLOPE) * WIDTH**-0.5 / (WIDTH - 2)
