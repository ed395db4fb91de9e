"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Partial(nnx.Module):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return F.layer_norm(scaled(self.first(x), self.second(x), factor=3.0), (4,), eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Partial(nnx.Module):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return F.layer_norm(scaled(self.first(x), self.second(x), factor=3.0), (4,), eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Partial(nnx.Module):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return F.layer_norm(scaled(self.first(x), self.second(x), factor=3.0), (4,), eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0)."""
    return x * lax.stop_gradient(y) * factor

# ---- the next port of this test ----
"""JAX port of Partial (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Partial(nnx.Module):
    """Calls functions whose arguments are partly given, one of which is made in forward.

    Partial (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return F.layer_norm(scaled(self.first(x), self.second(x), factor=3.0), (4,), eps=0.001)


def scaled(x, y, *, factor):
    """scaled (interpretation/test_calls.py:0)."""
    return x * lax.stop_gradient(y) * factor
