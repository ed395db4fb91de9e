"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        target = lax.stop_gradient(self.second(x))
        return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        target = lax.stop_gradient(self.second(x))
        return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        target = lax.stop_gradient(self.second(x))
        return (x - target) * lax.stop_gradient(x)

# ---- the next port of this test ----
"""JAX port of Data (interpretation/test_calls.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Data(nnx.Module):
    """A module that gives a tensor its own data again, and sets `requires_grad` of another one.

    Data (interpretation/test_calls.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        x = self.first(x)
        target = lax.stop_gradient(self.second(x))
        return (x - target) * lax.stop_gradient(x)
