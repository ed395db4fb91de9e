"""JAX port of Started (loops/test_loops.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Started(nnx.Module):
    """Elements of a list are replaced in a loop that counts from one; the norms have buffers.

    Started (loops/test_loops.py:0).
    """

    def __init__(self):
        self.layers = nnx.List([BatchNorm1d(4) for _ in range(2)])

    def __call__(self, x):
        found = [x, jnp.sin(x), jnp.cos(x)]
        item = self.layers[0](found[1])
        item_2 = self.layers[1](found[2])
        pairs = [(1, found[0]), (2, item), (3, item_2)]
        return jnp.concatenate([pairs[0][1] * 1, pairs[1][1] * 2, pairs[2][1] * 3], axis=1)
