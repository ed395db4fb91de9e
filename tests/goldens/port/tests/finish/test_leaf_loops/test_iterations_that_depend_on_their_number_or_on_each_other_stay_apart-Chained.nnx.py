"""JAX port of Chained (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Chained(nnx.Module):
    """Each parameter is scaled by the sum of the ones before it.

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


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    total = jnp.zeros(())
    k = module.target.layers[0].weight[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[0].bias[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].bias[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[2].bias[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of Chained (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Chained(nnx.Module):
    """Each parameter is scaled by the sum of the ones before it.

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


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    total = jnp.zeros(())
    k = module.target.layers[0].weight[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[0].bias[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[2].weight[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].bias[...]
    total = total + k.sum()
    k = k * total
    module.target.layers[2].bias[...] = lax.stop_gradient(k)
