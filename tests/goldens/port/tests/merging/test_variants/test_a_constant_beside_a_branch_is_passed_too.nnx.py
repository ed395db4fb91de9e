"""JAX port of OfTwoSizes (merging/test_variants.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class OfTwoSizes(nnx.Module):
    """OfTwoSizes (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Halves(rngs=rngs)
        self.second = Halves2(rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Halves(nnx.Module):
    """Halves (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.size = 3
        self.fc = Linear(3, 6, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = h[:, : self.size] * h[:, self.size :]
        return jax.nn.relu(h)


class Halves2(nnx.Module):
    """Halves (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.size = 2
        self.fc = Linear(3, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return h[:, : self.size] * h[:, self.size :]

# ---- the next port of this test ----
"""JAX port of OfTwoSizes (merging/test_variants.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class OfTwoSizes(nnx.Module):
    """OfTwoSizes (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Halves(rngs=rngs)
        self.second = Halves2(rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Halves(nnx.Module):
    """Halves (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.size = 3
        self.fc = Linear(3, 6, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = h[:, : self.size] * h[:, self.size :]
        return jax.nn.relu(h)


class Halves2(nnx.Module):
    """Halves (merging/test_variants.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.size = 2
        self.fc = Linear(3, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        return h[:, : self.size] * h[:, self.size :]
