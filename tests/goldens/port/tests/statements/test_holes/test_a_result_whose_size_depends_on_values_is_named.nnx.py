"""JAX port of Returns (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand (test_holes.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Returns(nnx.Module):
    """Returns (statements/test_holes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x, labels):
        pred = self.fc(x)
        return by_hand(labels, pred)


def by_hand(labels, pred):
    """Write by hand what lines 0 to 0 of test_holes.py do: `keep =
    (labels < 3).nonzero().squeeze(1); return pred[keep]`. It returns result: float32[3, 3] for
    the example inputs; the size depends on values. Inside of it, sizes that depend on values:
    keep: int64[3] in the example.
    """
    raise NotImplementedError(
        "test_holes.py:0 `keep = (labels < 3).nonzero().squeeze(1)`: nonzero() makes a size "
        "that depends on values, which JAX cannot trace; compute with a mask and torch.where on "
        "the whole tensor"
    )
