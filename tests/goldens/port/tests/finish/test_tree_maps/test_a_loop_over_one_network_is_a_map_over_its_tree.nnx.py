"""JAX port of Clipped (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Clipped(nnx.Module):
    """The parameters of one network stay within bounds.

    Clipped (finish/test_tree_maps.py:0).
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
    target = jax.tree.map(lambda target: F.clamp(target, min=-0.2, max=0.2), target)
    nnx.update(module.target, lax.stop_gradient(target))

# ---- the next port of this test ----
"""JAX port of Clipped (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Clipped(nnx.Module):
    """The parameters of one network stay within bounds.

    Clipped (finish/test_tree_maps.py:0).
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
    target = jax.tree.map(lambda target: F.clamp(target, min=-0.2, max=0.2), target)
    nnx.update(module.target, lax.stop_gradient(target))
