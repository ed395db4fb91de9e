"""JAX port of Normed (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear, weight_norm


class Normed(nnx.Module):
    """weight_norm of two layers, the weight of one of which is read by other code.

    Normed (nnx/test_port.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = weight_norm(Linear(3, 4, rngs=rngs))
        self.b = weight_norm(Linear(4, 2, bias=False, rngs=rngs), dim=None)

    def __call__(self, x):
        inner = self.a.parametrizations.weight.original0[...]
        return self.b(jnp.tanh(self.a(x))) + inner.sum()
