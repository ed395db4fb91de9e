"""JAX port of Network (ports/gnn.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

HEADS = 2
WIDTH = 3


def network(p, x, edges, senders, receivers):
    """Network (ports/gnn.py:0).

    x (N, 4), edges (L, 2), senders (L,) int, receivers (L,) int -> (1,).
    """
    h = F.elu(gat(p["gat"], x, edges, senders, receivers) + p["gat"]["bias"])
    total = F.index_add(jnp.zeros_like(h), 0, receivers, h[senders])
    count = jnp.ones((receivers.shape[0],), dtype=h.dtype)
    count = F.index_add(jnp.zeros((h.shape[0],), dtype=h.dtype), 0, receivers, count)
    y = total / F.clamp(count, min=1)[:, None]
    h = F.linear(h, **p["own"]) + F.linear(y, **p["neighbours"])
    return F.linear(F.amax(jax.nn.relu(h), dim=0), **p["readout"])


def gat(p, x, edges, senders, receivers):
    """GAT (ports/gnn.py:0).

    x (N, 4), edges (L, 2), senders (L,) int, receivers (L,) int -> (N, 6).
    """
    h = F.linear(x, **p["proj"]).reshape(-1, HEADS, WIDTH)
    score = (h * p["source"]).sum(axis=-1)[senders] + (h * p["target"]).sum(axis=-1)[receivers]
    score = F.leaky_relu(score + F.linear(edges, **p["edge"]), negative_slope=0.2)
    index = jnp.broadcast_to(receivers[:, None], score.shape)
    zeros = jnp.zeros((x.shape[0], HEADS), dtype=score.dtype)
    largest = lax.stop_gradient(score)
    largest = F.scatter_reduce(zeros, 0, index, largest, "amax", include_self=False)
    weight = jnp.exp(score - largest[receivers])
    total = F.index_add(zeros, 0, receivers, weight)
    alpha = weight / (total[receivers] + 1e-16)
    messages = alpha[..., None] * h[senders]
    x = F.index_add(jnp.zeros((x.shape[0], HEADS, WIDTH), dtype=h.dtype), 0, receivers, messages)
    return x.reshape(x.shape[0], -1)
