"""JAX port of Embedded (functions/test_parameters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Embedded(nnx.Module):
    """Each function keeps a frequency of its own as a default.

    Embedded (functions/test_parameters.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        y = jnp.sin(x * jnp.array(1.0, dtype=jnp.float32))
        h = jnp.sin(x * jnp.array(2.0, dtype=jnp.float32))
        return self.fc(jnp.concatenate([y, h], axis=-1))

# ---- the next port of this test ----
"""JAX port of Embedded (functions/test_parameters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Embedded(nnx.Module):
    """Each function keeps a frequency of its own as a default.

    Embedded (functions/test_parameters.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        y = jnp.sin(x * jnp.array(1.0, dtype=jnp.float32))
        h = jnp.sin(x * jnp.array(2.0, dtype=jnp.float32))
        return self.fc(jnp.concatenate([y, h], axis=-1))
