"""JAX port of Harmless (proof/test_deviations.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jax import lax


class Harmless(nnx.Module):
    """Has an argument with the name of an attribute, a flag that is set, and a detached value.

    Harmless (proof/test_deviations.py:0).
    """

    def __call__(self, data):
        x = lax.stop_gradient(data)
        return x * 2
