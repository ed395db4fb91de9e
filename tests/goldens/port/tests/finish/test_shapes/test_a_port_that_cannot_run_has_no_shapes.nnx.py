"""JAX port of Sorts (finish/test_shapes.py), written by jaxgrad.port for torch 2.13.

To be written by hand: by_hand (test_shapes.py:0)
"""

from flax import nnx


class Sorts(nnx.Module):
    """Sorts (finish/test_shapes.py:0)."""

    def __call__(self, x):
        return by_hand(x)


def by_hand(x):
    """Write by hand what line 0 of test_shapes.py does: `return x * len(x.unique())`. It returns
    result: float32[5, 3].
    """
    raise NotImplementedError(
        "test_shapes.py:0 `return x * len(x.unique())`: unique() makes a size that depends on "
        "values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor"
    )
