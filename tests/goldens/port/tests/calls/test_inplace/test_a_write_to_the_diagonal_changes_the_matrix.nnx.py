"""JAX port of Diagonal (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Diagonal(nnx.Module):
    """Only the diagonal of a matrix changes, and the whole matrix is read after it.

    Diagonal (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        c = h.T @ h
        c = jnp.fill_diagonal(c, F.diagonal(c) + -1, inplace=False)
        c = jnp.fill_diagonal(c, F.diagonal(c) ** 2, inplace=False)
        on = F.diagonal(c).sum()
        return on + self.second(c)

# ---- the next port of this test ----
"""JAX port of Diagonal (calls/test_inplace.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Diagonal(nnx.Module):
    """Only the diagonal of a matrix changes, and the whole matrix is read after it.

    Diagonal (calls/test_inplace.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        c = h.T @ h
        c = jnp.fill_diagonal(c, F.diagonal(c) + -1, inplace=False)
        c = jnp.fill_diagonal(c, F.diagonal(c) ** 2, inplace=False)
        on = F.diagonal(c).sum()
        return on + self.second(c)
