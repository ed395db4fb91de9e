"""JAX port of MoCo (ports/moco.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: queue.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

TEMPERATURE = 0.2


def moco(p, first, second):
    """MoCo (ports/moco.py:0): first (N, 5), second (N, 5) -> ()."""
    q = F.normalize(F.linear(mlp(p["query"], first), **p["predictor"]), dim=-1)
    k = lax.stop_gradient(F.normalize(mlp(p["key"], second), dim=-1))
    positive = (q * k).sum(axis=-1, keepdims=True)
    logits = jnp.concatenate([positive, q @ p["queue"].T], axis=1) / TEMPERATURE
    return F.cross_entropy(logits, jnp.zeros((q.shape[0],), dtype=int))


def mlp(p, x):
    """MoCo.key and MoCo.query (ports/moco.py:0): x (N, 5) -> (N, 4)."""
    x = F.linear(x, **p[0])
    x = F.elu(x)
    return F.linear(x, **p[2])
