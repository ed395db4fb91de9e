"""JAX port of Branches (interpretation/test_statements.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Branches(nnx.Module):
    """Branches on the value of a tensor.

    Branches (interpretation/test_statements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.inp = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        h = self.inp(x)

        def then(h):
            h = h * 2
            y = h.mean(axis=0)
            return h, y

        def otherwise(h):
            y = F.max(h, dim=0).values
            return h, y

        h, y = lax.cond(h.sum() > 0, then, otherwise, h)
        return y + lax.cond(h.mean() > 1, lambda: h[0], lambda: h[1])
