"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Recomputed(nnx.Module):
    """Recomputed (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        dropout_rng_2 = None if self.deterministic else self.rngs()

        def recomputed(x):
            x_2 = F.dropout(self.fc(x), p=0.5, training=not self.deterministic, key=dropout_rng)
            return jnp.sin(x_2) * F.dropout(
                x_2, p=0.1, training=not self.deterministic, key=dropout_rng_2
            )

        return jax.checkpoint(recomputed)(x)

# ---- the next port of this test ----
"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Recomputed(nnx.Module):
    """Recomputed (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        dropout_rng_2 = None if self.deterministic else self.rngs()

        def recomputed(x):
            x_2 = F.dropout(self.fc(x), p=0.5, training=not self.deterministic, key=dropout_rng)
            return jnp.sin(x_2) * F.dropout(
                x_2, p=0.1, training=not self.deterministic, key=dropout_rng_2
            )

        return jax.checkpoint(recomputed)(x)

# ---- the next port of this test ----
"""JAX port of Recomputed (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Recomputed(nnx.Module):
    """Recomputed (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        dropout_rng_2 = None if self.deterministic else self.rngs()

        def recomputed(x):
            x_2 = F.dropout(self.fc(x), p=0.5, training=not self.deterministic, key=dropout_rng)
            return jnp.sin(x_2) * F.dropout(
                x_2, p=0.1, training=not self.deterministic, key=dropout_rng_2
            )

        return jax.checkpoint(recomputed)(x)
