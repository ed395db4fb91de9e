"""JAX port of Compared (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Compared(nnx.Module):
    """Compared (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)

# ---- the next port of this test ----
"""JAX port of Compared (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Compared(nnx.Module):
    """Compared (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return x

# ---- the next port of this test ----
# PortError: test_builtin_calls.py:0 `return self.fc(x) if torch.equal(x, self.other(x)) else x`: torch.equal depends on the values of tensors; pass the answer as an argument
