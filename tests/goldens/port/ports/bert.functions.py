"""JAX port of Bert (ports/bert.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")

HEADS = 4
SIZE = 4


def bert(p, input_ids, token_type_ids, attention_mask, *, rng=None, training=False):
    """Bert (ports/bert.py:0).

    input_ids (N, L) int, token_type_ids (N, L) int, attention_mask (N, L) int ->
    {last_hidden_state (N, L, 16), pooler_output (N, 16)}.
    """
    embeddings_rng, layers_rng = split_rng(rng)
    x = bert_embeddings(
        p["embeddings"], input_ids, token_type_ids, rng=embeddings_rng, training=training
    )
    mask = (1.0 - attention_mask[:, None, None, :].astype(x.dtype)) * jnp.finfo(x.dtype).min
    for layer, layer_rng in zip(p["layer"], split_rng(layers_rng, len(p["layer"]))):
        x = bert_layer(layer, x, mask, rng=layer_rng, training=training)
    return {"last_hidden_state": x, "pooler_output": jnp.tanh(F.linear(x[:, 0], **p["pooler"][0]))}


def bert_embeddings(p, input_ids, token_type_ids, *, rng, training):
    """BertEmbeddings (ports/bert.py:0).

    input_ids (N, L) int, token_type_ids (N, L) int -> (N, L, 16).
    """
    positions = jnp.arange(input_ids.shape[1])[None]
    x = F.embedding(input_ids, **p["word_embeddings"], padding_idx=0)
    x = x + F.embedding(token_type_ids, **p["token_type_embeddings"])
    x = x + F.embedding(positions, **p["position_embeddings"])
    x = F.layer_norm(x, x.shape[-1:], **p["LayerNorm"], eps=1e-12)
    return F.dropout(x, p=0.1, training=training, key=rng)


def bert_layer(p, x, mask, *, rng, training):
    """BertLayer (ports/bert.py:0): x (N, L, 16), mask (N, 1, 1, L) -> (N, L, 16)."""
    attention_rng, attention_output_rng, output_rng = split_rng(rng, 3)
    hidden = bert_self_attention(p["attention"], x, mask, rng=attention_rng, training=training)
    x = bert_residual(p["attention_output"], hidden, x, rng=attention_output_rng, training=training)
    hidden = F.gelu(F.linear(x, **p["intermediate"]))
    return bert_residual(p["output"], hidden, x, rng=output_rng, training=training)


def bert_self_attention(p, x, mask, *, rng, training):
    """BertSelfAttention (ports/bert.py:0): x (N, L, 16), mask (N, 1, 1, L) -> (N, L, 16)."""
    q = F.linear(x, **p["query"])
    k = F.linear(x, **p["key"])
    v = F.linear(x, **p["value"])
    q = q.reshape(*q.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
    k = k.reshape(*k.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
    v = v.reshape(*v.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(SIZE) + mask
    context = F.dropout(jax.nn.softmax(scores, axis=-1), p=0.1, training=training, key=rng) @ v
    return context.transpose(0, 2, 1, 3).reshape(x.shape)


def bert_residual(p, hidden, x, *, rng, training):
    """BertResidual (ports/bert.py:0): hidden (N, L, D), x (N, L, 16) -> (N, L, 16)."""
    y = F.dropout(F.linear(hidden, **p["dense"]), p=0.1, training=training, key=rng)
    return F.layer_norm(y + x, (16,), **p["LayerNorm"], eps=1e-12)


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
