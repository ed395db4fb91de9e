"""JAX port of DenseMoE (port_collection/structured.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class DenseMoE(nnx.Module):
    """Every expert runs on every token; the gates of all but the best two are zero.

    DenseMoE (port_collection/structured.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.k = 2
        self.gate = Linear(4, 3, bias=False, rngs=rngs)
        self.experts = nnx.List(
            [
                nnx.Sequential(
                    Linear(4, 5, rngs=rngs), F.gelu, Linear(5, 4, rngs=rngs)
                ) for _ in range(3)
            ]
        )

    def __call__(self, x):
        logits = self.gate(x)
        values, chosen = F.topk(logits, self.k)
        gates = F.scatter(jnp.zeros_like(logits), -1, chosen, jax.nn.softmax(values, axis=-1))
        outputs = jnp.stack([expert(x) for expert in self.experts], axis=-1)
        load = gates.mean(axis=(0, 1))
        return (outputs * jnp.expand_dims(gates, -2)).sum(axis=-1), (load * load).sum() * 3
