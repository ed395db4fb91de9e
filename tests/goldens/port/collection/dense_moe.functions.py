"""JAX port of DenseMoE (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def dense_moe(p, x, *, k=2):
    """Every expert runs on every token; the gates of all but the best two are zero.

    DenseMoE (port_collection/structured.py:0): x (N, L, 4) -> (N, L, 4), ().
    """
    logits = F.linear(x, **p["gate"])
    values, chosen = F.topk(logits, k)
    gates = F.scatter(jnp.zeros_like(logits), -1, chosen, jax.nn.softmax(values, axis=-1))
    outputs = jnp.stack([expert_forward(expert, x) for expert in p["experts"]], axis=-1)
    load = gates.mean(axis=(0, 1))
    return (outputs * jnp.expand_dims(gates, -2)).sum(axis=-1), (load * load).sum() * 3


def expert_forward(p, x):
    """DenseMoE.experts[i] (port_collection/structured.py:0): x (N, L, 4) -> (N, L, 4)."""
    x = F.linear(x, **p[0])
    x = F.gelu(x)
    return F.linear(x, **p[2])
