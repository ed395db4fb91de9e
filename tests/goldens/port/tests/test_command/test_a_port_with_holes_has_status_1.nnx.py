"""JAX port of Refused (test_a_port_with_holes_has_sta0/mymodel.py), written by jaxgrad.port for
  torch 2.13.

To be written by hand: by_hand (mymodel.py:0)
"""

from flax import nnx


class Refused(nnx.Module):
    """Refused (test_a_port_with_holes_has_sta0/mymodel.py:0)."""

    def __call__(self, x):
        return by_hand(x)


def by_hand(x):
    """Write by hand what line 0 of mymodel.py does: `return x * x.max().item()`. It returns
    result: float32[4, 3].
    """
    raise NotImplementedError(
        "mymodel.py:0 `return x * x.max().item()`: item() reads the value of a tensor, which is "
        "not known when JAX traces; keep it as a tensor, or pass the number as an argument"
    )
