"""JAX port of Copied (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class Copied(nnx.Module):
    """The parameters and the buffers of the target are those of the other network.

    Copied (nnx/test_state_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
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
        online = nnx.state(self.online, (nnx.Param, nnx.BatchStat))
        nnx.update(self.target, lax.stop_gradient(online))
