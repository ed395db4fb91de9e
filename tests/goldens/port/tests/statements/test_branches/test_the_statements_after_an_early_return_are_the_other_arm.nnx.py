"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class ReturnsEarly(nnx.Module):
    """ReturnsEarly (statements/test_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)

        def otherwise():
            h = h * h
            return h + 1

        return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, otherwise)

# ---- the next port of this test ----
"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class ReturnsEarly(nnx.Module):
    """ReturnsEarly (statements/test_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)

        def otherwise():
            h = h * h
            return h + 1

        return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, otherwise)

# ---- the next port of this test ----
"""JAX port of ReturnsEarly (statements/test_branches.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A parameter that only the branch not taken uses has the gradient None in torch. With lax.cond it
  has zeros, and an optimizer then updates its moments and decays it.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class ReturnsEarly(nnx.Module):
    """ReturnsEarly (statements/test_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)

        def otherwise():
            h = h * h
            return h + 1

        return lax.cond(F.abs(h).sum() > 50, lambda: h * 2, otherwise)
