"""JAX port of Cached (functions/test_configuration.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Cached(nnx.Module):
    """Cached (functions/test_configuration.py:0)."""

    def __call__(self, x):
        return x * 2
