"""JAX port of Attention (finish/test_shapes.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Dropout, Linear


class Attention(nnx.Module):
    """Attention (finish/test_shapes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.to_q = Linear(4, 4, rngs=rngs)
        self.to_out = nnx.List([Linear(4, 4, rngs=rngs), Dropout(0.0, rngs=rngs)])

    def __call__(self, x):
        return processor(self, self.to_out, x) * 2


def processor(attn, out, x):
    """Processor.__call__ (finish/test_shapes.py:0)."""
    return out[0](jnp.sin(attn.to_q(x)))
