"""JAX port of Noisy (rules/test_random.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Noisy(nnx.Module):
    """Noisy (rules/test_random.py:0).

    `jaxgrad.nnx.load_state_dict` sets `scale`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.scale = nnx.BatchStat(jnp.empty(10, jnp.float32))
        self.fc = Linear(4, 4, rngs=rngs)
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        randint_rng = self.rngs()
        step = jax.random.randint(randint_rng, (x.shape[0],), 2, 10).astype(int)
        return self.fc(x) * self.scale[...][step][:, None]
