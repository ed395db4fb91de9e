"""JAX port of Chooses (statements/test_holes.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand_4 (test_holes.py:0); by_hand_3 (test_holes.py:0); by_hand_2
  (test_holes.py:0); by_hand (test_holes.py:0)
"""

from flax import nnx


class Chooses(nnx.Module):
    """Chooses (statements/test_holes.py:0)."""

    def __call__(self, x, mask):
        low, high = by_hand(x, mask)
        x = x * 2
        x = by_hand_2(x, mask, low, high)
        count = by_hand_3(mask)
        return by_hand_4(count, x, mask)


def by_hand_4(count, x, mask):
    """Write by hand what line 0 of test_holes.py does: `return x[mask].reshape(count, -1)`. It
    returns result: float32[2, 3] for the example inputs; the size depends on values.
    """
    raise NotImplementedError(
        "test_holes.py:0 `return x[mask].reshape(count, -1)`: a mask as an index makes a size "
        "that depends on values; use torch.where"
    )


def by_hand_3(mask):
    """Write by hand what line 0 of test_holes.py does: `count = int(mask.sum())`. It returns
    count: int.
    """
    raise NotImplementedError(
        "test_holes.py:0 `count = int(mask.sum())`: int() of a tensor: its value is not known "
        "when JAX traces; keep it as a tensor, or pass the number as an argument"
    )


def by_hand_2(x, mask, low, high):
    """Write by hand what line 0 of test_holes.py does: `x[mask] = x[mask] + high - low`. It
    returns x: float32[4, 3].
    """
    raise NotImplementedError(
        "test_holes.py:0 `x[mask] = x[mask] + high - low`: a mask as an index makes a size that "
        "depends on values; use torch.where"
    )


def by_hand(x, mask):
    """Write by hand what line 0 of test_holes.py does: `low, high = x[mask].aminmax()`. It
    returns low: float32[], high: float32[].
    """
    raise NotImplementedError(
        "test_holes.py:0 `low, high = x[mask].aminmax()`: a mask as an index makes a size that "
        "depends on values; use torch.where"
    )
