"""JAX port of MoCo (ports/moco.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")

TEMPERATURE = 0.2


class MoCo(nnx.Module):
    """MoCo (ports/moco.py:0).

    `jaxgrad.nnx.load_state_dict` sets `queue`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.queue = nnx.BatchStat(jnp.empty((6, 4), jnp.float64))
        self.query = nnx.Sequential(
            Linear(5, 6, dtype=jnp.float64, rngs=rngs),
            F.elu,
            Linear(6, 4, dtype=jnp.float64, rngs=rngs),
        )
        self.key = nnx.Sequential(
            Linear(5, 6, dtype=jnp.float64, rngs=rngs),
            F.elu,
            Linear(6, 4, dtype=jnp.float64, rngs=rngs),
        )
        self.predictor = Linear(4, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, first, second):
        q = F.normalize(self.predictor(self.query(first)), dim=-1)
        k = lax.stop_gradient(F.normalize(self.key(second), dim=-1))
        positive = (q * k).sum(axis=-1, keepdims=True)
        logits = jnp.concatenate([positive, q @ self.queue[...].T], axis=1) / TEMPERATURE
        return F.cross_entropy(logits, jnp.zeros((q.shape[0],), dtype=int))
