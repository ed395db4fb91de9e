"""JAX port of Padded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Padded(nnx.Module):
    """Padded (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x)
        if y.shape[1] % 4:
            pad = 4 - y.shape[1] % 4
            y = F.pad(y, (0, 0, 0, pad))
        else:
            y = y * 2
            pad = 0
        return y.reshape(y.shape[0], -1, 4, 4).sum(axis=2) * (1 + pad)

# ---- the next port of this test ----
"""JAX port of Padded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Padded(nnx.Module):
    """Padded (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x)
        if y.shape[1] % 4:
            pad = 4 - y.shape[1] % 4
            y = F.pad(y, (0, 0, 0, pad))
        else:
            y = y * 2
            pad = 0
        return y.reshape(y.shape[0], -1, 4, 4).sum(axis=2) * (1 + pad)

# ---- the next port of this test ----
"""JAX port of Padded (statements/test_size_branches.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Padded(nnx.Module):
    """Padded (statements/test_size_branches.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.linear = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        y = self.linear(x)
        if y.shape[1] % 4:
            pad = 4 - y.shape[1] % 4
            y = F.pad(y, (0, 0, 0, pad))
        else:
            y = y * 2
            pad = 0
        return y.reshape(y.shape[0], -1, 4, 4).sum(axis=2) * (1 + pad)
