"""JAX port of Traced (torch.fx.graph_module), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class Traced(nnx.Module):
    """torch.fx.graph_module.Traced."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        fc = self.fc(x)
        tanh = jnp.tanh(fc)
        return tanh * 2
