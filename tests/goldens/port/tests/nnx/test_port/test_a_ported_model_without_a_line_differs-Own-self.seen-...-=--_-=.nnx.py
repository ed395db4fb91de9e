"""JAX port of Own (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Own(nnx.Module):
    """A module with parameters, a buffer that changes, and two that torch does not save.

    Own (nnx/test_port.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weights`, which the constructor leaves as `jnp.empty`.
    No state_dict has `table`, which the constructor leaves as `jnp.empty`: copy torch's values.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.shift = nnx.Param(jnp.zeros(3, jnp.float32))
        self.seen = nnx.BatchStat(jnp.zeros(3, jnp.float32))
        self.scale = nnx.Cache(jnp.array([1.0, 2.0, 3.0], jnp.float32))
        self.table = nnx.Cache(jnp.empty((100, 3), jnp.float32))
        self.weights = nnx.List([nnx.Param(jnp.empty((3, 3), jnp.float32)) for _ in range(2)])
        self.gates = nnx.Dict({"a": Linear(3, 3, rngs=rngs), "b": Linear(3, 3, rngs=rngs)})
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            self.seen[...] = self.seen[...] + lax.stop_gradient(x).mean(axis=0)
        x = x * self.scale[...] + self.table[...][:4] + self.seen[...]
        x = x @ self.weights[0][...] @ self.weights[1][...] + self.shift[...]
        return self.gates["a"](x) * jax.nn.sigmoid(self.gates["b"](x))
