"""JAX port of State (nnx/test_state_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class State(nnx.Module):
    """The floating tensors of a state_dict are averaged, and the counter is copied.

    State (nnx/test_state_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.momentum = 0.9
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
        def is_floating(_, x):
            return jnp.issubdtype(x.dtype, jnp.floating)

        target = nnx.state(self.target, is_floating)
        online = nnx.state(self.online, is_floating)
        target = jax.tree.map(
            lambda target, online: F.add(target * self.momentum, online, alpha=1 - self.momentum),
            target,
            online,
        )
        nnx.update(self.target, lax.stop_gradient(target))
        k = self.online.layers[1].num_batches_tracked[...]
        self.target.layers[1].num_batches_tracked[...] = k
