"""JAX port of Noisy (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jaxgrad.nnx import Linear


class Noisy(nnx.Module):
    """Noisy (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            # noise that only training has
            normal_rng = self.rngs()
            x = x + 0.1 * jax.random.normal(normal_rng, x.shape, x.dtype)
        return x + self.drop_path(self.fc(x))

    def drop_path(self, x):
        if not self.deterministic:
            bernoulli_rng = self.rngs()
            kept = jax.random.bernoulli(bernoulli_rng, 0.8, (x.shape[0], 1)).astype(x.dtype)
            return x * kept / 0.8
        return x
