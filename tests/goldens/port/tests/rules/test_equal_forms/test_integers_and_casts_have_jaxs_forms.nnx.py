"""JAX port of Distances (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Embedding

F = functional.at("2.13")


class Distances(nnx.Module):
    """Distances (rules/test_equal_forms.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.ones((), jnp.float32))
        self.table = Embedding(4, 3, rngs=rngs)

    def __call__(self, x):
        places = jnp.arange(x.shape[1])
        distance = jnp.clip(jnp.abs(places[None] - places[:, None]), max=3)
        kinds = jax.nn.one_hot(distance, 4, dtype=jnp.float32)
        steps = jnp.arange(x.shape[1], dtype=jnp.float32) * F.clamp(F.abs(self.scale[...]), min=1)
        return steps[:, None] + kinds.sum(axis=1) @ self.table.weight[...]

# ---- the next port of this test ----
"""JAX port of Distances (rules/test_equal_forms.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Embedding

F = functional.at("2.13")


class Distances(nnx.Module):
    """Distances (rules/test_equal_forms.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.Param(jnp.ones((), jnp.float32))
        self.table = Embedding(4, 3, rngs=rngs)

    def __call__(self, x):
        places = jnp.arange(x.shape[1])
        distance = jnp.clip(jnp.abs(places[None] - places[:, None]), max=3)
        kinds = jax.nn.one_hot(distance, 4, dtype=jnp.float32)
        steps = jnp.arange(x.shape[1], dtype=jnp.float32) * F.clamp(F.abs(self.scale[...]), min=1)
        return steps[:, None] + kinds.sum(axis=1) @ self.table.weight[...]
