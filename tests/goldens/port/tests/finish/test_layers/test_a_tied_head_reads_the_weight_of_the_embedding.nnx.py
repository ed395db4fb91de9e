"""JAX port of Tied (finish/test_layers.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Embedding, Linear


class Tied(nnx.Module):
    """Tied (finish/test_layers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(5, 3, rngs=rngs)
        self.head = Linear(3, 5, bias=False, rngs=rngs)
        self.head.weight = self.embed.weight  # tied

    def __call__(self, ids):
        return self.head(self.embed(ids))

# ---- the next port of this test ----
"""JAX port of Tied (finish/test_layers.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Embedding, Linear


class Tied(nnx.Module):
    """Tied (finish/test_layers.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.embed = Embedding(5, 3, rngs=rngs)
        self.head = Linear(3, 5, rngs=rngs)
        self.head.weight = self.embed.weight  # tied

    def __call__(self, ids):
        return self.head(self.embed(ids))
