"""JAX port of Traced (functions/test_functions.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Traced(nnx.Module):
    """A test on the values of a mask, which the module leaves out where it is traced.

    Traced (functions/test_functions.py:0).
    """

    def __call__(self, x, keep):
        return x * keep[..., None] * 2

# ---- the next port of this test ----
# PortError: test_functions.py:0 `return x if keep.all() else x[0]`: this test depends on the values of a tensor; write it with torch.where, or pass the decision as an argument; or pass holes=True (--holes in the shell), and write this statement, or the call around it, by hand
