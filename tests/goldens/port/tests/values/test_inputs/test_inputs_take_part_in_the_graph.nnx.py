"""JAX port of Asks (values/test_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


class Asks(nnx.Module):
    """It asks whether its input takes part in the graph, as quantizers do.

    Asks (values/test_inputs.py:0).
    """

    def __call__(self, x):
        return x + lax.stop_gradient(F.round(x) - x)
