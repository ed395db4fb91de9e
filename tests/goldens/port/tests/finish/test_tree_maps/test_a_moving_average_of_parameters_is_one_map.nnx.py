"""JAX port of Averaged (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Averaged(nnx.Module):
    """A network whose target is the moving average of another one.

    Averaged (finish/test_tree_maps.py:0).
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
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(
        lambda target, online: F.add(target * momentum, online, alpha=1 - momentum), target, online
    )
    nnx.update(module.target, lax.stop_gradient(target))

# ---- the next port of this test ----
"""JAX port of Averaged (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Averaged(nnx.Module):
    """A network whose target is the moving average of another one.

    Averaged (finish/test_tree_maps.py:0).
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
    target = nnx.state(module.target, nnx.Param)
    online = nnx.state(module.online, nnx.Param)
    target = jax.tree.map(
        lambda target, online: F.add(target * momentum, online, alpha=1 - momentum), target, online
    )
    nnx.update(module.target, lax.stop_gradient(target))
