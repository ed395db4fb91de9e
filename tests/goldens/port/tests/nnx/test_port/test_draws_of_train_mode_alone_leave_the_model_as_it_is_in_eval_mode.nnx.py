"""JAX port of Noisy (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Noisy(nnx.Module):
    """Noisy (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            normal_rng = self.rngs()
            x = x + jax.random.normal(normal_rng, x.shape, x.dtype)
        return self.fc(x)
