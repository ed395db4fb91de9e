# PortError: inputs= needs arrays, got object; leave this argument out, and pass those after it by name

# ---- the next port of this test ----
"""JAX port of Optional (values/test_inputs.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Optional(nnx.Module):
    """Optional (values/test_inputs.py:0)."""

    def __call__(self, x, scale):
        return x * scale
