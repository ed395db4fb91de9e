"""JAX port of Loaded (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class Loaded(nnx.Module):
    """Loaded (finish/test_tree_maps.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = nnx.state(module.online, (nnx.Param, nnx.BatchStat))
    nnx.update(module.target, lax.stop_gradient(online))

# ---- the next port of this test ----
"""JAX port of Loaded (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class Loaded(nnx.Module):
    """Loaded (finish/test_tree_maps.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = nnx.state(module.online, (nnx.Param, nnx.BatchStat))
    nnx.update(module.target, lax.stop_gradient(online))
