"""JAX port of SENet (port_collection/vision.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm2d, Conv2d, Linear

F = functional.at("2.13")


class SENet(nnx.Module):
    """SENet (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Conv2d(3, 4, 3, stride=2, padding=1, bias=False, rngs=rngs))
        setattr(self, "1", BatchNorm2d(4))
        setattr(self, "3", SqueezeExcite(rngs=rngs))
        setattr(self, "6", Linear(16, 5, rngs=rngs))

    def __call__(self, x):
        x = getattr(self, "0")(x)
        x = getattr(self, "1")(x)
        x = F.hardswish(x)
        x = getattr(self, "3")(x)
        x = F.max_pool2d(x, 2, stride=2)
        x = x.reshape(x.shape[0], -1)
        return getattr(self, "6")(x)


class SqueezeExcite(nnx.Module):
    """SqueezeExcite (port_collection/vision.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = nnx.Sequential(
            lambda x: F.adaptive_avg_pool2d(x, 1),
            Conv2d(4, 2, 1, rngs=rngs),
            jax.nn.relu,
            Conv2d(2, 4, 1, rngs=rngs),
            F.hardsigmoid,
        )

    def __call__(self, x):
        return x * self.fc(x)
