"""JAX port of Scaled (values/test_static_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Scaled(nnx.Module):
    """Scaled (values/test_static_inputs.py:0)."""

    def __call__(self, x, scale):
        return x * scale
