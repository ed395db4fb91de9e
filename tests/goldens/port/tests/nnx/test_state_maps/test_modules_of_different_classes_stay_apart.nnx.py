"""JAX port of Unlike (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Unlike(nnx.Module):
    """The classes of the networks differ, with the same parameters.

    Unlike (nnx/test_state_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.momentum = 0.9
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(
            Called(out_features=5, in_features=4), Called(out_features=3, in_features=5)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        k = self.target.layers[0].weight[...]
        k = k * self.momentum
        k = F.add(k, self.online.layers[0].weight[...], alpha=1 - self.momentum)
        self.target.layers[0].weight[...] = lax.stop_gradient(k)
        k = self.target.layers[0].bias[...]
        k = k * self.momentum
        k = F.add(k, self.online.layers[0].bias[...], alpha=1 - self.momentum)
        self.target.layers[0].bias[...] = lax.stop_gradient(k)
        k = self.target.layers[1].weight[...]
        k = k * self.momentum
        k = F.add(k, self.online.layers[1].weight[...], alpha=1 - self.momentum)
        self.target.layers[1].weight[...] = lax.stop_gradient(k)
        k = self.target.layers[1].bias[...]
        k = k * self.momentum
        k = F.add(k, self.online.layers[1].bias[...], alpha=1 - self.momentum)
        self.target.layers[1].bias[...] = lax.stop_gradient(k)


class Called(nnx.Module):
    """A layer that is called in another way than the layers of torch.

    Called (nnx/test_state_maps.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self, out_features, in_features):
        self.weight = nnx.Param(jnp.empty((out_features, in_features), jnp.float32))
        self.bias = nnx.Param(jnp.empty(out_features, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...]) + 1
