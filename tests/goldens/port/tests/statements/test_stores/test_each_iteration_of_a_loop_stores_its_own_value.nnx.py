"""JAX port of Positions (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Positions(nnx.Module):
    """A loop that stores its variable in a list, as einops does with sizes.

    Positions (statements/test_stores.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = x.shape[0]
        item_2 = self.layer(x) * x.shape[0]
        item_3 = x.shape[1]
        item_4 = self.layer(x) * x.shape[1]
        return item_2 * item + item_4 * item_3

# ---- the next port of this test ----
"""JAX port of Positions (statements/test_stores.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Positions(nnx.Module):
    """A loop that stores its variable in a list, as einops does with sizes.

    Positions (statements/test_stores.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.layer = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        item = x.shape[0]
        item_2 = self.layer(x) * x.shape[0]
        item_3 = x.shape[1]
        item_4 = self.layer(x) * x.shape[1]
        return item_2 * item + item_4 * item_3
