"""JAX port of Recorded (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Recorded(nnx.Module):
    """Only the value that is added is detached.

    Recorded (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = h + lax.stop_gradient(h) * 2
        return h**2

# ---- the next port of this test ----
"""JAX port of Recorded (calls/test_memory.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- x.detach() shares the memory of x in torch; here it is a value of its own.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Recorded(nnx.Module):
    """Only the value that is added is detached.

    Recorded (calls/test_memory.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        h = self.fc(x)
        h = h + lax.stop_gradient(h) * 2
        return h**2
