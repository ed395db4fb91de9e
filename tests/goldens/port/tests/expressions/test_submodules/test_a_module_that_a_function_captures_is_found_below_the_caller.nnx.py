"""JAX port of Captured (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Captured(nnx.Module):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mlp = nnx.Dict(
            {"fc": Linear(4, 8, rngs=rngs), "act": None, "out": Linear(8, 4, rngs=rngs)}
        )

    def __call__(self, x):
        return x + self.mlp["out"](F.gelu(self.mlp["fc"](x)))

# ---- the next port of this test ----
"""JAX port of Captured (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Captured(nnx.Module):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mlp = nnx.Dict(
            {"fc": Linear(4, 8, rngs=rngs), "act": None, "out": Linear(8, 4, rngs=rngs)}
        )

    def __call__(self, x):
        return x + self.mlp["out"](F.gelu(self.mlp["fc"](x)))

# ---- the next port of this test ----
"""JAX port of Blocks (expressions/test_submodules.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Blocks(nnx.Module):
    """Blocks (expressions/test_submodules.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.blocks = nnx.List([Captured(rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Captured(nnx.Module):
    """The constructor makes a function that captures a submodule.

    Captured (expressions/test_submodules.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mlp = nnx.Dict(
            {"fc": Linear(4, 8, rngs=rngs), "act": None, "out": Linear(8, 4, rngs=rngs)}
        )

    def __call__(self, x):
        return x + self.mlp["out"](F.gelu(self.mlp["fc"](x)))
