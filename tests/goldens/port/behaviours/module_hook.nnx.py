"""JAX port of ModuleHook (port_collection/behaviours.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class ModuleHook(nnx.Module):
    """ModuleHook (port_collection/behaviours.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return jaxgrad.backward_hook(
            lambda x: self.outer(x), lambda grad_inputs, grad_outputs: halve(grad_inputs)
        )(jnp.tanh(self.inner(x)))


def halve(grad_input):
    """halve (port_collection/behaviours.py:0)."""
    return (grad_input[0] * 0.5,)
