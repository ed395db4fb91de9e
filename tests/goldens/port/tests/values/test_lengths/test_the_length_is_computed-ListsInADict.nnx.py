"""JAX port of ListsInADict (values/test_lengths.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class ListsInADict(nnx.Module):
    """ListsInADict (values/test_lengths.py:0).

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        lists = {"outs": [], "ins": []}
        for t in range(x.shape[1]):
            lists["outs"].append(self.linear(x[:, t]))
            lists["ins"].append(x[:, t])
        return jnp.stack(lists["outs"]) * len(lists["ins"])
