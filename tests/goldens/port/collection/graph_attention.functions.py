"""JAX port of GAT (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def gat(p, x, adj, *, rng=None, training=False):
    """GAT (port_collection/structured.py:0): x (N, 4), adj (N, N) int -> (N, 2)."""
    dropout_rng, attention_0_rng, attention_1_rng, out_att_rng = split_rng(rng, 4)
    x = F.dropout(x, p=0.6, training=training, key=dropout_rng)
    attention_0 = graph_attention_layer(
        p["attention_0"], x, adj, out_features=3, rng=attention_0_rng, training=training
    )
    attention_1 = graph_attention_layer(
        p["attention_1"], x, adj, out_features=3, rng=attention_1_rng, training=training
    )
    x = jnp.concatenate([attention_0, attention_1], axis=1)
    x = graph_attention_layer(
        p["out_att"], x, adj, out_features=2, concat=False, rng=out_att_rng, training=training
    )
    return jax.nn.log_softmax(F.elu(x), axis=1)


def graph_attention_layer(p, h, adj, *, out_features, concat=True, rng, training):
    """GraphAttentionLayer (port_collection/structured.py:0).

    h (N, D), adj (N, N) int -> (N, D').
    """
    Wh = h @ p["W"]
    e = prepare_attentional_mechanism_input(p, Wh, out_features=out_features)
    zero_vec = -9e15 * jnp.ones_like(e)
    attention = jnp.where(adj > 0, e, zero_vec)
    attention = jax.nn.softmax(attention, axis=1)
    attention = F.dropout(attention, p=0.6, training=training, key=rng)
    h_prime = attention @ Wh
    if concat:
        return F.elu(h_prime)
    return h_prime


def prepare_attentional_mechanism_input(p, Wh, *, out_features):
    """GraphAttentionLayer._prepare_attentional_mechanism_input (port_collection/structured.py:0).

    Wh (N, D) -> (N, N).
    """
    Wh1 = Wh @ p["a"][:out_features, :]
    Wh2 = Wh @ p["a"][out_features:, :]
    return F.leaky_relu(Wh1 + Wh2.T, negative_slope=0.2)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
