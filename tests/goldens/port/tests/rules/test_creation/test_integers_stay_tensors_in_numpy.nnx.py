"""JAX port of Ordered (rules/test_creation.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad.nnx import Linear


class Ordered(nnx.Module):
    """Integers go through numpy, as the lengths of sequences do.

    Ordered (rules/test_creation.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 4, rngs=rngs)

    def __call__(self, x, at):
        return self.fc(x)[lax.stop_gradient(at)]

# ---- the next port of this test ----
# PortError: test_creation.py:0 `return self.fc(x)[torch.from_numpy(at.detach().cpu().numpy())]`: numpy() reads the value of a tensor, which is not known when JAX traces; keep it as a tensor, or pass the number as an argument
