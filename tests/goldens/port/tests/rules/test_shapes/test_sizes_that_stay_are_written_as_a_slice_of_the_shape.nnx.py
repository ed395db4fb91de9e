"""JAX port of Flat (rules/test_shapes.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx


class Flat(nnx.Module):
    """Flat (rules/test_shapes.py:0)."""

    def __call__(self, x):
        x_2 = x * 2
        a = x_2.reshape(*x_2.shape[:-2], -1)
        b = a + 1
        x_3 = x * 3
        flatten = x_3.reshape(-1, *x_3.shape[2:])
        c = flatten.reshape(*flatten.shape[:-1], 2, -1)
        return a.sum() + b.sum() + c.reshape(c.shape[0], -1, c.shape[3]).sum()
