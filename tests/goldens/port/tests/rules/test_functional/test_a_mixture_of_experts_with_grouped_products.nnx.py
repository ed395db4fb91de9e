"""JAX port of Experts (rules/test_functional.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Experts(nnx.Module):
    """Each row goes to two of three experts, whose rows are multiplied as groups.

    Experts (rules/test_functional.py:0).

    `jaxgrad.nnx.load_state_dict` sets `weight`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.number = 3
        self.weight = nnx.Param(jnp.empty((3, 4, 8), jnp.float32))
        self.gate = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        weights, chosen = F.topk(jax.nn.softmax(self.gate(x), axis=-1), 2)
        experts, order = F.sort(chosen.reshape(-1))
        counts = jnp.histogram(experts.astype(jnp.float32), self.number, range=(0, self.number - 1))
        counts = counts[0].astype(jnp.float32)
        ends = F.cumsum(counts, 0, dtype=jnp.int32)
        rows = F.grouped_mm(x[order // 2], self.weight[...], offs=ends)
        rows = rows * jnp.expand_dims(weights.reshape(-1)[order], -1)
        return F.index_add(jnp.zeros((x.shape[0], 8), dtype=x.dtype), 0, order // 2, rows)
