"""JAX port of MessagePassing (port_collection/structured.py), written by jaxgrad.port for torch
  2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import GRUCell, Linear

F = functional.at("2.13")


class MessagePassing(nnx.Module):
    """Sums of messages over edges that are given as two rows of nodes.

    MessagePassing (port_collection/structured.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.rounds = 2
        self.message = nnx.Sequential(Linear(6, 4, rngs=rngs), jax.nn.relu, Linear(4, 3, rngs=rngs))
        self.update = GRUCell(3, 3, rngs=rngs)

    def __call__(self, nodes, edge_index):
        src, dst = edge_index
        for _ in range(self.rounds):
            m = self.message(jnp.concatenate([nodes[src], nodes[dst]], axis=-1))
            total = F.index_add(jnp.zeros_like(nodes), 0, dst, m)
            nodes = self.update(total, nodes)
        return F.amax(nodes, dim=0)
