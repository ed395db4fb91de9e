"""JAX port of CausalLinearAttention (port_collection/recurrent.py), written by jaxgrad.port for
  torch 2.13.
"""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class CausalLinearAttention(nnx.Module):
    """CausalLinearAttention (port_collection/recurrent.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.heads = 2
        self.to_qkv = Linear(4, 12, bias=False, rngs=rngs)
        self.to_out = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        parts = jnp.split(self.to_qkv(x), 3, axis=-1)
        q, k, v = self.split_heads(parts[0]), self.split_heads(parts[1]), self.split_heads(parts[2])
        q, k = elu_feature_map(q), elu_feature_map(k)
        kv = jnp.cumsum(jnp.einsum("bhnd,bhne->bhnde", k, v), axis=2)
        norm = 1 / (jnp.einsum("bhnd,bhnd->bhn", q, jnp.cumsum(k, axis=2)) + 1e-6)
        out = jnp.einsum("bhnd,bhnde,bhn->bhne", q, kv, norm)
        transpose = out.swapaxes(1, 2)
        return self.to_out(transpose.reshape(*transpose.shape[:2], -1))

    def split_heads(self, x):
        return x.reshape(*x.shape[:-1], self.heads, -1).swapaxes(1, 2)


def elu_feature_map(x):
    """elu_feature_map (port_collection/recurrent.py:0)."""
    return F.elu(x) + 1
