"""JAX port of ResNet (ports/resnet.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm2d, Conv2d, Linear

F = functional.at("2.13")


class ResNet(nnx.Module):
    """ResNet (ports/resnet.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.conv1 = Conv2d(3, 6, 5, stride=2, padding=2, bias=False, dtype=jnp.float64, rngs=rngs)
        self.bn1 = BatchNorm2d(6, dtype=jnp.float64)
        self.layer1 = nnx.Sequential(
            BasicBlock(out_channels=6, stride=1, rngs=rngs),
            BasicBlock(out_channels=6, stride=1, rngs=rngs),
        )
        self.layer2 = nnx.Sequential(
            BasicBlock(
                out_channels=8,
                stride=2,
                downsample=nnx.Sequential(
                    Conv2d(6, 8, 1, stride=2, bias=False, dtype=jnp.float64, rngs=rngs),
                    BatchNorm2d(8, dtype=jnp.float64),
                ),
                rngs=rngs,
            )
        )
        self.fc = Linear(8, 4, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x):
        x = F.max_pool2d(jax.nn.relu(self.bn1(self.conv1(x))), 3, stride=1, padding=1)
        x = self.layer2(self.layer1(x))
        x_2 = F.adaptive_avg_pool2d(x, 1)
        return self.fc(x_2.reshape(x_2.shape[0], -1))


class BasicBlock(nnx.Module):
    """BasicBlock (ports/resnet.py:0)."""

    def __init__(self, out_channels, stride, downsample=nnx.identity, *, rngs: nnx.Rngs):
        self.conv1 = Conv2d(
            6, out_channels, 3, stride=stride, padding=1, bias=False, dtype=jnp.float64, rngs=rngs
        )
        self.bn1 = BatchNorm2d(out_channels, dtype=jnp.float64)
        self.conv2 = Conv2d(
            out_channels, out_channels, 3, padding=1, bias=False, dtype=jnp.float64, rngs=rngs
        )
        self.bn2 = BatchNorm2d(out_channels, dtype=jnp.float64)
        self.downsample = downsample

    def __call__(self, x):
        identity = self.downsample(x)
        out = jax.nn.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return jax.nn.relu(out)
