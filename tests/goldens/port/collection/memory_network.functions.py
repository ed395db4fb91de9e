"""JAX port of MemN2N (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def mem_n2n(p, story, query):
    """An end-to-end memory network whose embeddings are shared between neighbouring hops.

    MemN2N (port_collection/sequence.py:0): story (N, L, 3) int, query (N, 3) int -> (N, 9).
    """
    u = [(F.embedding(query, **p["C_0"], padding_idx=0) * p["encoding"]).sum(axis=1)]
    m_A = (F.embedding(story, **p["C_0"], padding_idx=0) * p["encoding"]).sum(axis=2)
    prob = jax.nn.softmax((m_A * jnp.expand_dims(u[-1], 1)).sum(axis=2), axis=-1)
    m_C = (F.embedding(story, **p["C_1"], padding_idx=0) * p["encoding"]).sum(axis=2)
    o_k = (m_C * jnp.expand_dims(prob, 2)).sum(axis=1)
    u.append(u[-1] + o_k)
    m_A = (F.embedding(story, **p["C_1"], padding_idx=0) * p["encoding"]).sum(axis=2)
    prob = jax.nn.softmax((m_A * jnp.expand_dims(u[-1], 1)).sum(axis=2), axis=-1)
    m_C = (F.embedding(story, **p["C_2"], padding_idx=0) * p["encoding"]).sum(axis=2)
    o_k = (m_C * jnp.expand_dims(prob, 2)).sum(axis=1)
    u.append(u[-1] + o_k)
    return u[-1] @ p["C_2"]["weight"].T
