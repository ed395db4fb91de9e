"""JAX port of Left (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Left(nnx.Module):
    """The variable of the loop is read after it.

    Left (finish/test_tree_maps.py:0).
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
    new = k * momentum + module.online.layers[0].weight[...]
    k = new
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    new = module.online.layers[0].bias[...] * 0.5
    k = new
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    new = k * momentum + module.online.layers[2].weight[...]
    k = new
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    new = module.online.layers[2].bias[...] * 0.5
    k = new
    module.target.layers[2].bias[...] = lax.stop_gradient(k)
    total = new.sum()
    first = module.target.layers[0].weight[...]
    first = first + total
    module.target.layers[0].weight[...] = lax.stop_gradient(first)
