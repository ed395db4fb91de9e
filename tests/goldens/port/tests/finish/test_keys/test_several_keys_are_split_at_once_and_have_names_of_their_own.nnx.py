"""JAX port of Twice (finish/test_keys.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Twice(nnx.Module):
    """Twice (finish/test_keys.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        dropout_rng = None if self.deterministic else self.rngs()
        x = F.dropout(x, p=0.5, training=not self.deterministic, key=dropout_rng)
        if not self.deterministic:
            normal_rng = self.rngs()
            x = x + jax.random.normal(normal_rng, x.shape, x.dtype)
        dropout_rng = None if self.deterministic else self.rngs()
        return F.dropout(jnp.tanh(x), p=0.5, training=not self.deterministic, key=dropout_rng)
