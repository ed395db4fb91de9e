"""JAX port of Lambda (source/test_naming.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Lambda(nnx.Module):
    """Lambda (source/test_naming.py:0)."""

    def __call__(self, x):
        return x * max(2.0, x.shape[0])
