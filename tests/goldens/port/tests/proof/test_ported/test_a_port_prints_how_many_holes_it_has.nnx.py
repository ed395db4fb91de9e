"""JAX port of Sorted (proof/test_ported.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand (test_ported.py:0)
"""

from flax import nnx


class Sorted(nnx.Module):
    """Sorted (proof/test_ported.py:0)."""

    def __call__(self, x):
        return by_hand(x)


def by_hand(x):
    """Write by hand what line 0 of test_ported.py does: `return x[x > 0].sum() + x.sum()`. It
    returns result: float32[].
    """
    raise NotImplementedError(
        "test_ported.py:0 `return x[x > 0].sum() + x.sum()`: a mask as an index makes a size "
        "that depends on values; use torch.where"
    )
