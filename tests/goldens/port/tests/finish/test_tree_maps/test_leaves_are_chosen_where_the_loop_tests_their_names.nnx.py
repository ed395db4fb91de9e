"""JAX port of Weights (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Weights(nnx.Module):
    """The biases are left alone.

    Weights (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs),
            jax.nn.relu,
            Linear(5, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs),
            jax.nn.relu,
            Linear(5, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_tree_maps.py:0)."""
    online = {
        "0.weight": module.online.layers[0].weight[...],
        "0.bias": module.online.layers[0].bias[...],
        "2.weight": module.online.layers[2].weight[...],
        "2.bias": module.online.layers[2].bias[...],
        "3.weight": module.online.layers[3].weight[...],
        "3.bias": module.online.layers[3].bias[...],
        "4.weight": module.online.layers[4].weight[...],
        "4.bias": module.online.layers[4].bias[...],
    }
    k = module.target.layers[0].weight[...]
    k = F.lerp(k, online["0.weight"], 0.1)
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    k = F.lerp(k, online["2.weight"], 0.1)
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[3].weight[...]
    k = F.lerp(k, online["3.weight"], 0.1)
    module.target.layers[3].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[4].weight[...]
    k = F.lerp(k, online["4.weight"], 0.1)
    module.target.layers[4].weight[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of Weights (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Weights(nnx.Module):
    """The biases are left alone.

    Weights (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs),
            jax.nn.relu,
            Linear(5, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs),
            jax.nn.relu,
            Linear(5, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
            Linear(3, 3, rngs=rngs),
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_tree_maps.py:0)."""
    online = {
        "0.weight": module.online.layers[0].weight[...],
        "0.bias": module.online.layers[0].bias[...],
        "2.weight": module.online.layers[2].weight[...],
        "2.bias": module.online.layers[2].bias[...],
        "3.weight": module.online.layers[3].weight[...],
        "3.bias": module.online.layers[3].bias[...],
        "4.weight": module.online.layers[4].weight[...],
        "4.bias": module.online.layers[4].bias[...],
    }
    k = module.target.layers[0].weight[...]
    k = F.lerp(k, online["0.weight"], 0.1)
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    k = F.lerp(k, online["2.weight"], 0.1)
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[3].weight[...]
    k = F.lerp(k, online["3.weight"], 0.1)
    module.target.layers[3].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[4].weight[...]
    k = F.lerp(k, online["4.weight"], 0.1)
    module.target.layers[4].weight[...] = lax.stop_gradient(k)
