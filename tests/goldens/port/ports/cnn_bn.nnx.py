"""JAX port of CNN (ports/cnn_bn.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm2d, Conv2d, Dropout, Linear

F = functional.at("2.13")

LEVELS = 2
RANGE = 2.0


class CNN(nnx.Module):
    """CNN (ports/cnn_bn.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv1 = Conv2d(3, 4, 3, padding=1, dtype=jnp.float64, rngs=rngs)
        self.bn1 = BatchNorm2d(4, dtype=jnp.float64)
        self.quant = FakeQuant()
        self.conv2 = Conv2d(4, 6, 3, stride=2, padding=1, bias=False, dtype=jnp.float64, rngs=rngs)
        self.bn2 = BatchNorm2d(6, dtype=jnp.float64)
        self.dropout = Dropout(0.1, rngs=rngs)
        self.fc = Linear(54, 5, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        x = jnp.tanh(F.max_pool2d(self.quant(self.bn1(self.conv1(x))), 2, stride=2))
        x = F.elu(self.bn2(self.conv2(x)))
        return self.fc(self.dropout(x.reshape(x.shape[0], -1)))


class FakeQuant(nnx.Module):
    """Round in the forward pass only, as in quantisation-aware training.

    FakeQuant (ports/cnn_bn.py:0).
    """

    def __call__(self, x):
        x = F.clamp(x, min=-RANGE, max=RANGE)
        return x + lax.stop_gradient(F.round(x * LEVELS) / LEVELS - x)
