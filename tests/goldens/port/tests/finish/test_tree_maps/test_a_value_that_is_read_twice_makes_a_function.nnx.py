"""JAX port of Assigned (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Assigned(nnx.Module):
    """The target is changed through `.data`, with a value that is read twice.

    Assigned (finish/test_tree_maps.py:0).
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
    """update (finish/test_tree_maps.py:0)."""
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)

    def updated(target, online):
        step = online - target
        k = target + 0.1 * step * F.abs(step)
        return lax.stop_gradient(k)

    target = jax.tree.map(updated, target, online)
    nnx.update(module.target, target)

# ---- the next port of this test ----
"""JAX port of Assigned (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Assigned(nnx.Module):
    """The target is changed through `.data`, with a value that is read twice.

    Assigned (finish/test_tree_maps.py:0).
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
    """update (finish/test_tree_maps.py:0)."""
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)

    def updated(target, online):
        step = online - target
        k = target + 0.1 * step * F.abs(step)
        return lax.stop_gradient(k)

    target = jax.tree.map(updated, target, online)
    nnx.update(module.target, target)
