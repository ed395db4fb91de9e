"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.stack = nnx.Sequential(Unit(rate=0.1, rngs=rngs), Unit(rate=0.2, rngs=rngs))

    def __call__(self, x):
        return self.stack(x)


class Unit(nnx.Module):
    """Unit (nnx/test_port.py:0)."""

    def __init__(self, rate, *, rngs: nnx.Rngs):
        self.rate = rate
        self.fc = Linear(3, 3, rngs=rngs)
        self.norm = BatchNorm1d(3)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x):
        # half of the residual branch
        dropout_rng = None if self.deterministic else self.rngs()
        y = jnp.tanh(self.norm(self.fc(x)))
        return x + 0.5 * F.dropout(y, p=self.rate, training=not self.deterministic, key=dropout_rng)
