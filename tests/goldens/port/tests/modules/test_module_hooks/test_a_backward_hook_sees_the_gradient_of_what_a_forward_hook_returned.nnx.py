"""JAX port of Hooked (modules/test_module_hooks.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Hooked(nnx.Module):
    """Hooked (modules/test_module_hooks.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jaxgrad.backward_hook(
            lambda x: self.second(x) * 2, lambda grad_inputs, grad_outputs: (grad_outputs[0] * 5,)
        )(jnp.tanh(self.first(x)))

# ---- the next port of this test ----
"""JAX port of Hooked (modules/test_module_hooks.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad.nnx import Linear


class Hooked(nnx.Module):
    """Hooked (modules/test_module_hooks.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(4, 4, rngs=rngs)
        self.second = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return jaxgrad.backward_hook(
            lambda x: self.second(x) * 2, lambda grad_inputs, grad_outputs: (grad_outputs[0] * 5,)
        )(jnp.tanh(self.first(x)))
