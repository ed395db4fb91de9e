"""JAX port of Calls (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)) (test_builtin_calls.py:0)
"""

import math

from flax import nnx
from jaxgrad.nnx import Linear


class Calls(nnx.Module):
    """Calls (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        found = []
        found.append(self.layers[0](x))
        h = found[0][0 : x.shape[0] - 1]
        assert (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)), (
            "this port holds for (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / "
            "2)): torch takes another branch otherwise (test_builtin_calls.py:0)"
        )
        return h * 2

# ---- the next port of this test ----
"""JAX port of Calls (calls/test_builtin_calls.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)) (test_builtin_calls.py:0)
"""

import math

from flax import nnx
from jaxgrad.nnx import Linear


class Calls(nnx.Module):
    """Calls (calls/test_builtin_calls.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        found = []
        found.append(self.layers[0](x))
        h = found[0][0 : x.shape[0] - 1]
        assert (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / 2)), (
            "this port holds for (x.shape[0] / 3).is_integer() and (not math.isnan(x.shape[0] / "
            "2)): torch takes another branch otherwise (test_builtin_calls.py:0)"
        )
        return h * 2
