"""JAX port of Reads (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand (test_holes.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Reads(nnx.Module):
    """Reads (statements/test_holes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.out = Linear(3, 2, rngs=rngs)
        self.deterministic = False

    def __call__(self, x, mask):
        h = self.fc(x)
        if not self.deterministic:
            # the loudest
            loud = by_hand(h, mask)
            h = h - loud
        return self.out(jnp.tanh(h))


def by_hand(h, mask):
    """Write by hand what line 0 of test_holes.py does: `loud = h[mask].mean()`. It returns loud:
    float32[].
    """
    raise NotImplementedError(
        "test_holes.py:0 `loud = h[mask].mean()`: a mask as an index makes a size that depends "
        "on values; use torch.where"
    )
