"""JAX port of Attention (rules/test_table.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import MultiheadAttention


class Attention(nnx.Module):
    """Attention (rules/test_table.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attention = MultiheadAttention(4, 2, dropout=0.1, batch_first=True, rngs=rngs)

    def __call__(self, x):
        return self.attention(x, x, x)
