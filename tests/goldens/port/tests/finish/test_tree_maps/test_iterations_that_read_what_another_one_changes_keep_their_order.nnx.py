"""JAX port of Chained (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Chained(nnx.Module):
    """The bias of each layer becomes the mean of the weight before it.

    Chained (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0)."""
    k = module.target.layers[0].weight[...]
    k = k * momentum
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    weight = k
    k = module.target.layers[0].bias[...]
    k = jnp.broadcast_to(weight.mean(), (*k.shape,))
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    k = k * momentum
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    weight = k
    k = module.target.layers[2].bias[...]
    k = jnp.broadcast_to(weight.mean(), (*k.shape,))
    module.target.layers[2].bias[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of Chained (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Chained(nnx.Module):
    """The bias of each layer becomes the mean of the weight before it.

    Chained (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0)."""
    k = module.target.layers[0].weight[...]
    k = k * momentum
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    weight = k
    k = module.target.layers[0].bias[...]
    k = jnp.broadcast_to(weight.mean(), (*k.shape,))
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    k = k * momentum
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    weight = k
    k = module.target.layers[2].bias[...]
    k = jnp.broadcast_to(weight.mean(), (*k.shape,))
    module.target.layers[2].bias[...] = lax.stop_gradient(k)
