"""JAX port of State (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class State(nnx.Module):
    """All tensors of a state_dict follow.

    State (finish/test_tree_maps.py:0).
    """

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

    def is_floating(_, x):
        return jnp.issubdtype(x.dtype, jnp.floating)

    target = nnx.state(module.target, is_floating)
    online = nnx.state(module.online, is_floating)
    target = jax.tree.map(lambda target, online: 0.5 * (target + online), target, online)
    nnx.update(module.target, lax.stop_gradient(target))
    k = module.target.layers[1].num_batches_tracked[...]
    k = (0.5 * (k + module.online.layers[1].num_batches_tracked[...])).astype(k.dtype)
    module.target.layers[1].num_batches_tracked[...] = k

# ---- the next port of this test ----
"""JAX port of State (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class State(nnx.Module):
    """All tensors of a state_dict follow.

    State (finish/test_tree_maps.py:0).
    """

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

    def is_floating(_, x):
        return jnp.issubdtype(x.dtype, jnp.floating)

    target = nnx.state(module.target, is_floating)
    online = nnx.state(module.online, is_floating)
    target = jax.tree.map(lambda target, online: 0.5 * (target + online), target, online)
    nnx.update(module.target, lax.stop_gradient(target))
    k = module.target.layers[1].num_batches_tracked[...]
    k = (0.5 * (k + module.online.layers[1].num_batches_tracked[...])).astype(k.dtype)
    module.target.layers[1].num_batches_tracked[...] = k
