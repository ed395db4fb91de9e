"""JAX port of Last (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Last(nnx.Module):
    """The last parameter is read after the loop.

    Last (finish/test_leaf_loops.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        k = self.target.layers[0].weight[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[0].weight[...] = k
        k = self.target.layers[0].bias[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[0].bias[...] = k
        k = self.target.layers[2].weight[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[2].weight[...] = k
        k = self.target.layers[2].bias[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[2].bias[...] = k
        last = lax.stop_gradient(k)
        return self.online(x) + self.target(x) + last.sum()

# ---- the next port of this test ----
"""JAX port of Last (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Last(nnx.Module):
    """The last parameter is read after the loop.

    Last (finish/test_leaf_loops.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))
        self.target = nnx.Sequential(Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 3, rngs=rngs))

    def __call__(self, x):
        k = self.target.layers[0].weight[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[0].weight[...] = k
        k = self.target.layers[0].bias[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[0].bias[...] = k
        k = self.target.layers[2].weight[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[2].weight[...] = k
        k = self.target.layers[2].bias[...]
        k = lax.stop_gradient(k * 0.9)
        self.target.layers[2].bias[...] = k
        last = lax.stop_gradient(k)
        return self.online(x) + self.target(x) + last.sum()
