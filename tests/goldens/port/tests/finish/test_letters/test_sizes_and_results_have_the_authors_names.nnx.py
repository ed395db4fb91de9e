"""JAX port of Net (finish/test_letters.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d

F = functional.at("2.13")


class Net(nnx.Module):
    """Net (finish/test_letters.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Conv2d(3, 4, 3, stride=2, rngs=rngs)
        self.second = Conv2d(4, 4, 1, rngs=rngs)

    def __call__(self, images):
        batch = images.shape[0]
        x = self.unit(self.first, images)
        mean, std = self.moments(self.unit(self.second, x).reshape(batch, -1))
        return mean / std

    def unit(self, conv, x):
        return jnp.tanh(conv(x))

    def moments(self, x):
        return x.mean(axis=1), jnp.exp(F.std(x, dim=1))
