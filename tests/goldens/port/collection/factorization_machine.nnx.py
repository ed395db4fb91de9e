"""JAX port of FactorizationMachine (port_collection/structured.py), written by jaxgrad.port for
  torch 2.13.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding, Linear


class FactorizationMachine(nnx.Module):
    """A recommender whose features are keyword arguments.

    FactorizationMachine (port_collection/structured.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.tables = nnx.Dict(
            {"user": Embedding(5, 3, rngs=rngs), "item": Embedding(4, 3, rngs=rngs)}
        )
        self.biases = nnx.Dict(
            {
                "item": nnx.Param(jnp.zeros(4, jnp.float32)),
                "user": nnx.Param(jnp.zeros(5, jnp.float32)),
            }
        )
        self.dense = Linear(2, 3, rngs=rngs)

    def __call__(self, user, item, price):
        ids = {"user": user, "item": item}
        factors = [
            self.tables["user"](ids["user"]), self.tables["item"](ids["item"]), self.dense(price)
        ]
        stacked = jnp.stack(factors, axis=1)
        pairwise = 0.5 * (stacked.sum(axis=1) ** 2 - (stacked**2).sum(axis=1)).sum(axis=-1)
        linear = self.biases["user"][...][ids["user"]] + self.biases["item"][...][ids["item"]]
        return jax.nn.sigmoid(pairwise + linear)
