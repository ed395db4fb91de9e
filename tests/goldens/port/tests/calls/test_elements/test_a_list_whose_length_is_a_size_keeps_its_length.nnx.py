"""JAX port of Counted (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- len(found) == 3 (test_elements.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """The length of a list is a size, and one of its elements changes.

    Counted (calls/test_elements.py:0).

    JAX unrolls `for row in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = [self.first(row) for row in x]
        found_2 = found[0] + 1
        assert len(found) == 3, "this port holds for 3 elements, as in the example"
        return found_2 + found[1] + found[2]

# ---- the next port of this test ----
"""JAX port of Counted (calls/test_elements.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- len(found) == 3 (test_elements.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Counted(nnx.Module):
    """The length of a list is a size, and one of its elements changes.

    Counted (calls/test_elements.py:0).

    JAX unrolls `for row in x`, so compile time grows with the number of iterations; use
    lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        found = [self.first(row) for row in x]
        found_2 = found[0] + 1
        assert len(found) == 3, "this port holds for 3 elements, as in the example"
        return found_2 + found[1] + found[2]
