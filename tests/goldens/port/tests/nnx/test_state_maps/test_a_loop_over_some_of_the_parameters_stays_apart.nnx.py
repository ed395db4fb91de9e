"""JAX port of Weights (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Weights(nnx.Module):
    """The biases are left alone.

    Weights (nnx/test_state_maps.py:0).
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
        online = {
            "0.weight": self.online.layers[0].weight[...],
            "0.bias": self.online.layers[0].bias[...],
            "1.weight": self.online.layers[1].weight[...],
            "1.bias": self.online.layers[1].bias[...],
            "2.weight": self.online.layers[2].weight[...],
            "2.bias": self.online.layers[2].bias[...],
        }
        k = self.target.layers[0].weight[...]
        k = F.lerp(k, online["0.weight"], 0.1)
        self.target.layers[0].weight[...] = lax.stop_gradient(k)
        k = self.target.layers[1].weight[...]
        k = F.lerp(k, online["1.weight"], 0.1)
        self.target.layers[1].weight[...] = lax.stop_gradient(k)
        k = self.target.layers[2].weight[...]
        k = F.lerp(k, online["2.weight"], 0.1)
        self.target.layers[2].weight[...] = lax.stop_gradient(k)
