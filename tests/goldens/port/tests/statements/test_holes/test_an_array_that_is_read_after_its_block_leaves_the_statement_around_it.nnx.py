"""JAX port of InOneArm (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand (test_holes.py:0)
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class InOneArm(nnx.Module):
    """InOneArm (statements/test_holes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.deterministic = False

    def __call__(self, x, labels):
        pred = self.fc(x)
        if not self.deterministic:
            return by_hand(self, labels, pred)
        keep = jnp.arange(2)
        return pred[keep].mean()


def by_hand(module, labels, pred):
    """Write by hand what lines 0 to 0 of test_holes.py do: `if self.training:     keep =
    (labels < 3).nonzero().squeeze(1) else:     keep = torch.arange(2); return
    pred[keep].mean()`. It returns result: float32[]. Inside of it, sizes that depend on values:
    keep: int64[3] in the example.
    """
    raise NotImplementedError(
        "test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size "
        "that depends on values, which JAX cannot trace; compute with a mask and torch.where on "
        "the whole tensor; a function by hand cannot return `keep` either, because its size "
        "depends on values: use a mask instead of an index, such as torch.where(mask, x, 0)"
    )

# ---- the next port of this test ----
# PortError: test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size that depends on values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor; a function by hand cannot return `keep` either, because its size depends on values: use a mask instead of an index, such as torch.where(mask, x, 0)

# ---- the next port of this test ----
# PortError: test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size that depends on values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor
