"""JAX port of Attention (rules/test_table.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import MultiheadAttention


class Attention(nnx.Module):
    """Attends in a batch, which is a template, and without one, which is a function of torch.

    Attention (rules/test_table.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.attention = MultiheadAttention(4, 2, dropout=0.1, batch_first=True, rngs=rngs)

    def __call__(self, x):
        return self.attention(x, x, x)[0] + self.attention(x[0], x[0], x[0])[0]
