"""JAX port of Parts (expressions/test_indexing.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jaxgrad.nnx import LayerNorm, Linear


class Parts(nnx.Module):
    """Parts (expressions/test_indexing.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([LayerNorm(4), None, Linear(4, 4, rngs=rngs)])

    def __call__(self, x):
        return self.layers[2](jax.nn.silu(self.layers[0](x))) + self.layers[2](x)
