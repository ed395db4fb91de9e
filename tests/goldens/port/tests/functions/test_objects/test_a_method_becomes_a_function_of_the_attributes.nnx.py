"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Scaled(nnx.Module):
    """Scaled (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.layer(x)
        mean = h.mean(axis=-1, keepdims=True)
        std = F.std(h, dim=-1, keepdim=True) + 1e-5
        h = apply(mean, std, h)
        mean_2 = mean + 1.5
        return apply(mean_2, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0)."""
    return lax.stop_gradient(mean)

# ---- the next port of this test ----
"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Scaled(nnx.Module):
    """Scaled (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.layer(x)
        mean = h.mean(axis=-1, keepdims=True)
        std = F.std(h, dim=-1, keepdim=True) + 1e-5
        h = apply(mean, std, h)
        mean_2 = mean + 1.5
        return apply(mean_2, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0)."""
    return lax.stop_gradient(mean)

# ---- the next port of this test ----
"""JAX port of Scaled (functions/test_objects.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Scaled(nnx.Module):
    """Scaled (functions/test_objects.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.layer(x)
        mean = h.mean(axis=-1, keepdims=True)
        std = F.std(h, dim=-1, keepdim=True) + 1e-5
        h = apply(mean, std, h)
        mean_2 = mean + 1.5
        return apply(mean_2, std, h)


def apply(mean, std, h):
    """Scaler.apply (functions/test_objects.py:0)."""
    h = h - centre(mean)
    return h / std


def centre(mean):
    """Scaler.centre (functions/test_objects.py:0)."""
    return lax.stop_gradient(mean)
