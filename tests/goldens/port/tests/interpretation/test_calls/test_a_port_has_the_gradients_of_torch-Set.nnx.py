"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden_0 = self.first(x)
        hidden_1 = self.second(x)
        return self.total(hidden_0, hidden_1)

    def total(self, one, other):
        return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden_0 = self.first(x)
        hidden_1 = self.second(x)
        return self.total(hidden_0, hidden_1)

    def total(self, one, other):
        return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden_0 = self.first(x)
        hidden_1 = self.second(x)
        return self.total(hidden_0, hidden_1)

    def total(self, one, other):
        return one * 2 + other * 3

# ---- the next port of this test ----
"""JAX port of Set (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Set(nnx.Module):
    """A module that sets numbers of its own, and tensors of an object by name.

    Set (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        hidden_0 = self.first(x)
        hidden_1 = self.second(x)
        return self.total(hidden_0, hidden_1)

    def total(self, one, other):
        return one * 2 + other * 3
