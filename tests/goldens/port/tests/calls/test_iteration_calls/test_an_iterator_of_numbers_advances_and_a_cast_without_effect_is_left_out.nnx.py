"""JAX port of Kept (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Kept(nnx.Module):
    """Kept (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.linear(x) * 2.0 + 3.0 + 5.0

# ---- the next port of this test ----
# PortError: test_iteration_calls.py:0 `self.linear = self.linear.to(torch.float32)`: `.to()` on a module while it runs; call it before porting
