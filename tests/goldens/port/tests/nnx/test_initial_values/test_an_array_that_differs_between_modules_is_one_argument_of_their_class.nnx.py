"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Shuffle(order=(2, 0, 1)))
        setattr(self, "1", Linear(3, 3, rngs=rngs))
        setattr(self, "2", Shuffle(order=(1, 2, 0)))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        x = getattr(self, "1")(x)
        return getattr(self, "2")(x)


class Shuffle(nnx.Module):
    """Shuffle (nnx/test_initial_values.py:0)."""

    def __init__(self, order):
        self.order = nnx.Cache(jnp.array(order, int))

    def __call__(self, x):
        return x[:, self.order[...]]
