"""JAX port of Scaled (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- torch.linspace(0, 1, 11)[3].item() == 0.30000001192092896 (test_creation.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are.

    Scaled (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * 0.3

# ---- the next port of this test ----
"""JAX port of Scaled (rules/test_creation.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- torch.linspace(0, 1, 11)[3].item() == 0.30000001192092896 (test_creation.py:0)
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Scaled(nnx.Module):
    """The number is read from a tensor of the default dtype, as schedules of a diffusion are.

    Scaled (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return self.fc(x) * 0.3
