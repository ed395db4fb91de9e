"""JAX port of Initialized (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- self.initialized.item() == 1 (test_creation.py:0)

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
- A change through .data is not seen by torch's backward pass, whose gradient is then silently that
  of another value. Here it makes a new array.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Initialized(nnx.Module):
    """It reads a flag as a number, as networks do that choose their scales in the first call.

    Initialized (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.initialized = nnx.BatchStat(jnp.ones((), jnp.uint8))
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)

# ---- the next port of this test ----
# PortError: test_creation.py:0 `self.fc.weight.data.copy_(-x.std() * torch.ones(4, 4))`: the parameter 'fc.weight' is changed while the module runs, so the next call starts from another value; compute a changed copy and use it (`self.weight * mask`), or change the parameter after the optimizer's step; if only the first call changes it, run the module once before porting
