"""JAX port of CausalLinearAttention (port_collection/recurrent.py), written by jaxgrad.port for
  torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def causal_linear_attention(p, x):
    """CausalLinearAttention (port_collection/recurrent.py:0): x (N, L, 4) -> (N, L, 4)."""
    parts = jnp.split(F.linear(x, **p["to_qkv"]), 3, axis=-1)
    q, k, v = split_heads(parts[0]), split_heads(parts[1]), split_heads(parts[2])
    q, k = elu_feature_map(q), elu_feature_map(k)
    kv = jnp.cumsum(jnp.einsum("bhnd,bhne->bhnde", k, v), axis=2)
    norm = 1 / (jnp.einsum("bhnd,bhnd->bhn", q, jnp.cumsum(k, axis=2)) + 1e-6)
    out = jnp.einsum("bhnd,bhnde,bhn->bhne", q, kv, norm)
    transpose = out.swapaxes(1, 2)
    return F.linear(transpose.reshape(*transpose.shape[:2], -1), **p["to_out"])


def split_heads(x, *, heads=2):
    """CausalLinearAttention.split_heads (port_collection/recurrent.py:0).

    x (N, L, 4) -> (N, 2, L, 2).
    """
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(1, 2)


def elu_feature_map(x):
    """elu_feature_map (port_collection/recurrent.py:0): x (N, 2, L, 2) -> (N, 2, L, 2)."""
    return F.elu(x) + 1
