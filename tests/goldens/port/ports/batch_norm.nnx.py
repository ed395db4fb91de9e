"""JAX port of Net (ports/batch_norm.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm2d, Conv2d, Linear


class Net(nnx.Module):
    """Net (ports/batch_norm.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv = Conv2d(2, 3, 3, padding=1, bias=False, dtype=jnp.float64, rngs=rngs)
        self.bn = BatchNorm2d(3, dtype=jnp.float64)
        self.fc = Linear(3, 2, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        return self.fc(jax.nn.relu(self.bn(self.conv(x))).mean(axis=(2, 3)))
