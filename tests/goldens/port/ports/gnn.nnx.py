"""JAX port of Network (ports/gnn.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")

HEADS = 2
WIDTH = 3


class Network(nnx.Module):
    """Network (ports/gnn.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.gat = GAT(rngs=rngs)
        self.own = Linear(6, 3, dtype=jnp.float64, rngs=rngs)
        self.neighbours = Linear(6, 3, bias=False, dtype=jnp.float64, rngs=rngs)
        self.readout = Linear(3, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, edges, senders, receivers):
        h = F.elu(self.gat(x, edges, senders, receivers) + self.gat.bias[...])
        total = F.index_add(jnp.zeros_like(h), 0, receivers, h[senders])
        count = jnp.ones((receivers.shape[0],), dtype=h.dtype)
        count = F.index_add(jnp.zeros((h.shape[0],), dtype=h.dtype), 0, receivers, count)
        h = self.own(h) + self.neighbours(total / F.clamp(count, min=1)[:, None])
        return self.readout(F.amax(jax.nn.relu(h), dim=0))


class GAT(nnx.Module):
    """GAT (ports/gnn.py:0).

    `jaxgrad.nnx.load_state_dict` sets `source`, `target` and `bias`, which the constructor
    leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.source = nnx.Param(jnp.empty((2, 3), jnp.float64))
        self.target = nnx.Param(jnp.empty((2, 3), jnp.float64))
        self.bias = nnx.Param(jnp.empty(6, jnp.float64))
        self.proj = Linear(4, 6, bias=False, dtype=jnp.float64, rngs=rngs)
        self.edge = Linear(2, 2, bias=False, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, edges, senders, receivers):
        h = self.proj(x).reshape(-1, HEADS, WIDTH)
        score = (h * self.source[...]).sum(axis=-1)
        score = score[senders] + (h * self.target[...]).sum(axis=-1)[receivers]
        score = F.leaky_relu(score + self.edge(edges), negative_slope=0.2)
        index = jnp.broadcast_to(receivers[:, None], score.shape)
        zeros = jnp.zeros((x.shape[0], HEADS), dtype=score.dtype)
        largest = lax.stop_gradient(score)
        largest = F.scatter_reduce(zeros, 0, index, largest, "amax", include_self=False)
        weight = jnp.exp(score - largest[receivers])
        total = F.index_add(zeros, 0, receivers, weight)
        alpha = weight / (total[receivers] + 1e-16)
        messages = alpha[..., None] * h[senders]
        index_add = jnp.zeros((x.shape[0], HEADS, WIDTH), dtype=h.dtype)
        index_add = F.index_add(index_add, 0, receivers, messages)
        return index_add.reshape(index_add.shape[0], -1)
