"""JAX port of Set (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """The parameters are set through `.data`.

    Set (finish/test_tree_maps.py:0).
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
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(lambda target, online: target * 0.9 + online * 0.1, target, online)
    nnx.update(module.target, lax.stop_gradient(target))

# ---- the next port of this test ----
"""JAX port of Set (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """The parameters are set through `.data`.

    Set (finish/test_tree_maps.py:0).
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
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(lambda target, online: target * 0.9 + online * 0.1, target, online)
    nnx.update(module.target, lax.stop_gradient(target))
