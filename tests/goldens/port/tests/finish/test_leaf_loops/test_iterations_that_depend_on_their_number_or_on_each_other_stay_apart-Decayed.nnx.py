"""JAX port of Decayed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Decayed(nnx.Module):
    """Each parameter has its own momentum.

    Decayed (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = [
        module.online.layers[0].weight[...],
        module.online.layers[0].bias[...],
        module.online.layers[2].weight[...],
        module.online.layers[2].bias[...],
    ]
    target = [
        module.target.layers[0].weight[...],
        module.target.layers[0].bias[...],
        module.target.layers[2].weight[...],
        module.target.layers[2].bias[...],
    ]
    k = target[0]
    k = F.lerp(k, online[0], 0.1 * (0 + 1))
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = target[1]
    k = F.lerp(k, online[1], 0.1 * (1 + 1))
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = target[2]
    k = F.lerp(k, online[2], 0.1 * (2 + 1))
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = target[3]
    k = F.lerp(k, online[3], 0.1 * (3 + 1))
    module.target.layers[2].bias[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of Decayed (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Decayed(nnx.Module):
    """Each parameter has its own momentum.

    Decayed (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = [
        module.online.layers[0].weight[...],
        module.online.layers[0].bias[...],
        module.online.layers[2].weight[...],
        module.online.layers[2].bias[...],
    ]
    target = [
        module.target.layers[0].weight[...],
        module.target.layers[0].bias[...],
        module.target.layers[2].weight[...],
        module.target.layers[2].bias[...],
    ]
    k = target[0]
    k = F.lerp(k, online[0], 0.1 * (0 + 1))
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = target[1]
    k = F.lerp(k, online[1], 0.1 * (1 + 1))
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = target[2]
    k = F.lerp(k, online[2], 0.1 * (2 + 1))
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = target[3]
    k = F.lerp(k, online[3], 0.1 * (3 + 1))
    module.target.layers[2].bias[...] = lax.stop_gradient(k)
