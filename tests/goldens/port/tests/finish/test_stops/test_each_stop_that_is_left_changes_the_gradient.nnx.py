"""JAX port of Region (finish/test_stops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Region(nnx.Module):
    """Region (finish/test_stops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        norm = lax.stop_gradient(F.norm(h, dim=1, keepdim=True))
        norm = lax.stop_gradient(norm + 1)
        gate = lax.stop_gradient(self.second(h))
        return self.second(h / norm) * gate

# ---- the next port of this test ----
"""JAX port of Region (finish/test_stops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Region(nnx.Module):
    """Region (finish/test_stops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        norm = lax.stop_gradient(F.norm(h, dim=1, keepdim=True))
        norm = lax.stop_gradient(norm + 1)
        gate = lax.stop_gradient(self.second(h))
        return self.second(h / norm) * gate

# ---- the next port of this test ----
"""JAX port of Region (finish/test_stops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Region(nnx.Module):
    """Region (finish/test_stops.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        norm = lax.stop_gradient(F.norm(h, dim=1, keepdim=True))
        norm = lax.stop_gradient(norm + 1)
        gate = lax.stop_gradient(self.second(h))
        return self.second(h / norm) * gate
