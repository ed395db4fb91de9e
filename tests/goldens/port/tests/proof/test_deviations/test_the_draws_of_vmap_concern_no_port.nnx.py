# PortError: test_deviations.py:0 `return nn.functional.dropout(nn.functional.dropout(row, 0.5), 0.5)`: dropout raised RuntimeError: vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap; pass inputs on which it does not

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Dropout


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Dropout(0.2, rngs=rngs))
        setattr(self, "1", Dropout(rngs=rngs))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))
