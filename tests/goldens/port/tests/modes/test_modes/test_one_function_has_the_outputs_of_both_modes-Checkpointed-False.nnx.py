"""JAX port of Checkpointed (modes/test_modes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Checkpointed(nnx.Module):
    """Checkpointed (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List([Doubled(rngs=rngs) for _ in range(3)])

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Doubled(nnx.Module):
    """Doubled (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        return nnx.remat(type(self).inner)(self, x) + x

    def inner(self, x):
        y = self.fc(x)
        if not self.deterministic:
            return y * 2
        return y
