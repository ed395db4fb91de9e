"""JAX port of MemN2N (port_collection/sequence.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Embedding


class MemN2N(nnx.Module):
    """An end-to-end memory network whose embeddings are shared between neighbouring hops.

    MemN2N (port_collection/sequence.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoding = nnx.Param(jnp.ones((3, 4), jnp.float32))
        self.C_0 = Embedding(9, 4, padding_idx=0, rngs=rngs)
        self.C_1 = Embedding(9, 4, padding_idx=0, rngs=rngs)
        self.C_2 = Embedding(9, 4, padding_idx=0, rngs=rngs)

    def __call__(self, story, query):
        u = [(self.C_0(query) * self.encoding[...]).sum(axis=1)]
        m_A = (self.C_0(story) * self.encoding[...]).sum(axis=2)
        prob = jax.nn.softmax((m_A * jnp.expand_dims(u[-1], 1)).sum(axis=2), axis=-1)
        m_C = (self.C_1(story) * self.encoding[...]).sum(axis=2)
        o_k = (m_C * jnp.expand_dims(prob, 2)).sum(axis=1)
        u.append(u[-1] + o_k)
        m_A = (self.C_1(story) * self.encoding[...]).sum(axis=2)
        prob = jax.nn.softmax((m_A * jnp.expand_dims(u[-1], 1)).sum(axis=2), axis=-1)
        m_C = (self.C_2(story) * self.encoding[...]).sum(axis=2)
        o_k = (m_C * jnp.expand_dims(prob, 2)).sum(axis=1)
        u.append(u[-1] + o_k)
        return u[-1] @ self.C_2.weight[...].T
