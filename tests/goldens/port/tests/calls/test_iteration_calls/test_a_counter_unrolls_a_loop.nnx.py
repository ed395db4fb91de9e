"""JAX port of Counter (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 3 times (test_iteration_calls.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Counter(nnx.Module):
    """Counter (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert len(range(x.shape[1])) == 3, (
            "this port holds for a loop that runs 3 times, as in the example"
        )
        x = x + self.linear(x[:, 2])[:, None]
        x = x + self.linear(x[:, 1])[:, None]
        return x + self.linear(x[:, 0])[:, None]

# ---- the next port of this test ----
"""JAX port of Counter (calls/test_iteration_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- the loop runs 3 times (test_iteration_calls.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Counter(nnx.Module):
    """Counter (calls/test_iteration_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        assert len(range(x.shape[1])) == 3, (
            "this port holds for a loop that runs 3 times, as in the example"
        )
        x = x + self.linear(x[:, 2])[:, None]
        x = x + self.linear(x[:, 1])[:, None]
        return x + self.linear(x[:, 0])[:, None]
