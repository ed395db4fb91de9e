# PortError: test_modes.py:0 `if self.training and self.draw() < 0.5:`: RandomState.rand draws from the generator of Python or numpy, and the port would have this one number for ever; draw with torch

# ---- the next port of this test ----
"""JAX port of DropsLayers (modes/test_modes.py), written by jaxgrad.port for torch 2.13.

It is for eval mode only. The train mode of the module cannot be ported: test_modes.py:0 `if
  self.training and self.draw() < 0.5:`: RandomState.rand draws from the generator of Python or
  numpy, and the port would have this one number for ever; draw with torch
"""

from flax import nnx
from jaxgrad.nnx import Linear


class DropsLayers(nnx.Module):
    """DropsLayers (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)
