"""JAX port of Side (loops/test_loop_statements.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import BatchNorm1d


class Side(nnx.Module):
    """A loop goes over two lists of modules at once, and both lists have buffers.

    Side (loops/test_loop_statements.py:0).
    """

    def __init__(self):
        self.norms = nnx.List([BatchNorm1d(3) for _ in range(2)])
        self.others = nnx.List([BatchNorm1d(3) for _ in range(2)])

    def __call__(self, x):
        for norm, other in zip(self.norms, self.others):
            x = other(jnp.sin(norm(x)))
        return x
