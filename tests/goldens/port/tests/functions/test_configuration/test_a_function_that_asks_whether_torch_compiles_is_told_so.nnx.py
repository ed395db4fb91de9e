"""JAX port of Asking (functions/test_configuration.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Asking(nnx.Module):
    """Asking (functions/test_configuration.py:0)."""

    def __call__(self, x, keep):
        return x * keep[..., None] * 2
