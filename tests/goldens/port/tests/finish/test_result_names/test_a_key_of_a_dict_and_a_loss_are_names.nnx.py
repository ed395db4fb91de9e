"""JAX port of Losses (finish/test_result_names.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Losses(nnx.Module):
    """Losses (finish/test_result_names.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.code = Linear(3, 2, rngs=rngs)
        self.out = Linear(2, 3, rngs=rngs)

    def __call__(self, x):
        parts = self.parts(self.code(x))
        return F.mse_loss(self.out(parts["h"]), x) + parts["penalty"], parts["h"], parts["penalty"]

    def parts(self, h):
        return {"h": jnp.tanh(h), "penalty": (h**2).mean()}
