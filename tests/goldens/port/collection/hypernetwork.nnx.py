"""JAX port of HyperNetwork (port_collection/structured.py), written by jaxgrad.port for torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class HyperNetwork(nnx.Module):
    """HyperNetwork (port_collection/structured.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.heads = nnx.Dict(
            {
                "w1": Linear(3, 8, rngs=rngs),
                "b1": Linear(3, 4, rngs=rngs),
                "w2": Linear(3, 4, rngs=rngs),
                "b2": Linear(3, 1, rngs=rngs),
            }
        )

    def __call__(self, z, x):
        params = self.generate(z)
        h = jnp.tanh(jnp.einsum("bni,boi->bno", x, params["w1"]) + params["b1"][:, None])
        return jnp.expand_dims(params["b2"], 1) + h @ params["w2"].swapaxes(1, 2)

    def generate(self, z):
        return {
            "w1": self.heads["w1"](z).reshape(-1, 4, 2),
            "b1": self.heads["b1"](z).reshape(-1, 4),
            "w2": self.heads["w2"](z).reshape(-1, 1, 4),
            "b2": self.heads["b2"](z).reshape(-1, 1),
        }
