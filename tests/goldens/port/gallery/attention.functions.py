"""JAX port of Attention (models/attention.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def attention(p, x, *, heads=2):
    """Attention (models/attention.py:0): x (batch, length, 8) -> (batch, length, 8)."""
    batch, length, width = x.shape
    # queries, keys and values at once
    qkv = F.linear(x, **p["qkv"]).reshape(batch, length, 3, heads, width // heads)
    q, k, v = qkv.transpose(2, 0, 3, 1, 4)
    causal = jnp.tril(jnp.ones((length, length), dtype=bool))
    scores = q @ k.swapaxes(-2, -1) / q.shape[-1] ** 0.5
    weights = jax.nn.softmax(jnp.where(~causal, -jnp.inf, scores), axis=-1)
    return F.linear((weights @ v).swapaxes(1, 2).reshape(batch, length, width), **p["out"])
