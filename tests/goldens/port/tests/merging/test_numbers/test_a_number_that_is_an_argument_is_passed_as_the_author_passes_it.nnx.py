"""JAX port of Passes (merging/test_numbers.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx


class Passes(nnx.Module):
    """Passes (merging/test_numbers.py:0)."""

    def __init__(self):
        self.steps = 4

    def __call__(self, x, *, t1=1.5):
        h = t1 / self.steps
        for _ in range(self.steps):
            x = jnp.sin(scaled(x, h=h))
        return scaled(x, h=h)


def scaled(x, *, h, gain=2.5):
    """scaled (merging/test_numbers.py:0)."""
    return x * h * gain + h
