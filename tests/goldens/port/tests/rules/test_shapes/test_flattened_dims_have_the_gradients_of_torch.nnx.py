"""JAX port of Fixed (rules/test_shapes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import Linear


class Fixed(nnx.Module):
    """Dims that torch counts from the front, with a parameter so that gradients are compared.

    Fixed (rules/test_shapes.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(6, 6, rngs=rngs)

    def __call__(self, x):
        fc = self.fc(x)
        h = fc.reshape(fc.shape[0], -1, fc.shape[3])
        unflatten = h.reshape(h.shape[0], 3, 4, h.shape[2])
        flatten = unflatten.reshape(*unflatten.shape[:-2], -1)
        unflatten_2 = flatten.reshape(*flatten.shape[:-1], 2, 12)
        return unflatten_2.reshape(-1, *unflatten_2.shape[2:])
