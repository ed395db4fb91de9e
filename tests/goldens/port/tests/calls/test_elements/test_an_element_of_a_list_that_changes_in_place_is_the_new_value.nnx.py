"""JAX port of Listed (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Listed(nnx.Module):
    """Elements of a list that another function returns are changed.

    Listed (calls/test_elements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = self.parts(x)
        found_2 = found[0] + 1
        found_3 = found[1] * 2
        return self.second(found_2 * found_3)

    def parts(self, x):
        h = self.first(x)
        return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Listed (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Listed(nnx.Module):
    """Elements of a list that another function returns are changed.

    Listed (calls/test_elements.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = self.parts(x)
        found_2 = found[0] + 1
        found_3 = found[1] * 2
        return self.second(found_2 * found_3)

    def parts(self, x):
        h = self.first(x)
        return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Taken (calls/test_elements.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Taken(nnx.Module):
    """Taken (calls/test_elements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = self.parts(x)
        first = found[0]
        first += 1
        found_2 = first
        return self.second(found_2 * found[1]) + (found_2 + found[1])

    def parts(self, x):
        h = self.first(x)
        return [h * 2, h * 3]

# ---- the next port of this test ----
"""JAX port of Keyed (calls/test_elements.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Keyed(nnx.Module):
    """Keyed (calls/test_elements.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.first(x)
        h += 1
        kept_2 = h
        return self.second(kept_2) * kept_2
