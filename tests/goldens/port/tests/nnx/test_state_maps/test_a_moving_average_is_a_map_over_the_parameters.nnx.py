"""JAX port of Averaged (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Averaged(nnx.Module):
    """A network whose target is the moving average of another one.

    Averaged (nnx/test_state_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.momentum = 0.9
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        target = nnx.state(self.target, nnx.Param)
        online = nnx.state(self.online, nnx.Param)
        target = jax.tree.map(
            lambda target, online: F.add(target * self.momentum, online, alpha=1 - self.momentum),
            target,
            online,
        )
        nnx.update(self.target, lax.stop_gradient(target))
