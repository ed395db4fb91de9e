"""JAX port of ReadsInTrainMode (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

It is for eval mode only. The train mode of the module cannot be ported: test_modes.py:0 `return y
  * float(x.max()) if self.training else y`: float() of a tensor: its value is not known when JAX
  traces; keep it as a tensor, or pass the number as an argument
"""

from flax import nnx
from jaxgrad.nnx import Linear


class ReadsInTrainMode(nnx.Module):
    """ReadsInTrainMode (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)

# ---- the next port of this test ----
# PortError: test_modes.py:0 `return y * float(x.max()) if self.training else y`: float() of a tensor: its value is not known when JAX traces; keep it as a tensor, or pass the number as an argument; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
