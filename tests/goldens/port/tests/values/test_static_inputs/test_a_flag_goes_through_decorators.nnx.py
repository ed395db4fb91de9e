"""JAX port of Decorated (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Decorated(nnx.Module):
    """Decorated (values/test_static_inputs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x, shift):
        return self.fc(x) + shift

# ---- the next port of this test ----
"""JAX port of Decorated (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Decorated(nnx.Module):
    """Decorated (values/test_static_inputs.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x, shift):
        return self.fc(x)
