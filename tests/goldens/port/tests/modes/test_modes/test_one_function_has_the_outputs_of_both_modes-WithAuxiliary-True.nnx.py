"""JAX port of WithAuxiliary (modes/test_modes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class WithAuxiliary(nnx.Module):
    """WithAuxiliary (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Auxiliary(rngs=rngs)
        self.out = Linear(2, 2, rngs=rngs)
        self.deterministic = False

    def __call__(self, x):
        if not self.deterministic:
            y, loss = self.inner.forward(x)
            return self.out(y), loss
        return self.out(self.inner(x))


class Auxiliary(nnx.Module):
    """Auxiliary (modes/test_modes.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(3, 3, rngs=rngs)
        self.b = Linear(3, 2, rngs=rngs)
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        h = self.norm(self.a(x)) * 1.0
        return self.b(h)

    def forward(self, x):
        h = self.norm(self.a(x)) * 0.5
        h = F.clamp(h, max=1.0)
        return self.b(h), h.mean()
