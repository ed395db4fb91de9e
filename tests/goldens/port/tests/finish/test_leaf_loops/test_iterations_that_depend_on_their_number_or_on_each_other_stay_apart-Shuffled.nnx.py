"""JAX port of Shuffled (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Shuffled(nnx.Module):
    """A parameter takes the value of another one of the same tree.

    Shuffled (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
        )
        self.target = nnx.Sequential(
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    for n in range(3):
        module.target.layers[n].weight[...] = lax.stop_gradient(
            module.target.layers[n + 1].weight[...]
        )

# ---- the next port of this test ----
"""JAX port of Shuffled (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Shuffled(nnx.Module):
    """A parameter takes the value of another one of the same tree.

    Shuffled (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
        )
        self.target = nnx.Sequential(
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
            Linear(4, 4, rngs=rngs),
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    for n in range(3):
        module.target.layers[n].weight[...] = lax.stop_gradient(
            module.target.layers[n + 1].weight[...]
        )
