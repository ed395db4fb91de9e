"""JAX port of TextClassifier (port_collection/recurrent.py), written by jaxgrad.port for torch
  2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def text_classifier(p, tokens, lengths):
    """TextClassifier (port_collection/recurrent.py:0).

    tokens (N, L) int, lengths (N,) int -> (N, 2).
    """
    mask = jnp.arange(tokens.shape[1])[None, :] < lengths[:, None]
    states = gru(p["encoder"], F.embedding(tokens, **p["embedding"], padding_idx=0))
    return F.linear(attentive_pooling(p["pool"], states, mask), **p["out"])


def gru(p, x):
    """torch.nn.GRU: x (N, L, 4) -> (N, L, 6)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((4, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x, reverse=False):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.gru_cell(x_t, state, *weights)
            return state, state

        return lax.scan(step, state, x, reverse=reverse)

    _, out_l0 = scan("l0", start[0], x)
    _, out_l0_reverse = scan("l0_reverse", start[1], x, reverse=True)
    x = jnp.concatenate([out_l0, out_l0_reverse], axis=-1)
    _, out_l1 = scan("l1", start[2], x)
    _, out_l1_reverse = scan("l1_reverse", start[3], x, reverse=True)
    x = jnp.concatenate([out_l1, out_l1_reverse], axis=-1)
    return x.swapaxes(0, 1)


def attentive_pooling(p, states, mask):
    """AttentivePooling (port_collection/recurrent.py:0).

    states (N, L, 6), mask (N, L) bool -> (N, 6).
    """
    scores = states @ p["query"] / math.sqrt(states.shape[-1])
    scores = jnp.where(~mask, jnp.finfo(scores.dtype).min, scores)
    return (jnp.expand_dims(jax.nn.softmax(scores, axis=-1), -1) * states).sum(axis=1)
