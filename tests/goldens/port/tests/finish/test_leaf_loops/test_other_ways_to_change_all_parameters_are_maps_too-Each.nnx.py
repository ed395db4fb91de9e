"""JAX port of Each (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Each(nnx.Module):
    """The parameters are changed by operators on lists of them.

    Each (finish/test_tree_maps.py:0).
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
    """update (finish/test_leaf_loops.py:0)."""
    target = nnx.state(module.target, nnx.Param)
    target = jax.tree.map(lambda target: target * momentum, target)
    nnx.update(module.target, lax.stop_gradient(target))
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(
        lambda target, online: F.add(target, online, alpha=1 - momentum), target, online
    )
    nnx.update(module.target, lax.stop_gradient(target))

# ---- the next port of this test ----
"""JAX port of Each (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Each(nnx.Module):
    """The parameters are changed by operators on lists of them.

    Each (finish/test_tree_maps.py:0).
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
    """update (finish/test_leaf_loops.py:0)."""
    target = nnx.state(module.target, nnx.Param)
    target = jax.tree.map(lambda target: target * momentum, target)
    nnx.update(module.target, lax.stop_gradient(target))
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(
        lambda target, online: F.add(target, online, alpha=1 - momentum), target, online
    )
    nnx.update(module.target, lax.stop_gradient(target))
