"""JAX port of GRUClassifier (ports/gru.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

WIDTH = 8
SHRINK = 0.1


def gru_classifier(p, tokens, *, rng=None, training=False):
    """GRUClassifier (ports/gru.py:0): tokens (N, L) int -> pooled (N, 4), last (2, N, 8)."""
    x = shrink_gradient(F.embedding(tokens, **p["embedding"], padding_idx=0)) * math.sqrt(WIDTH)
    out, last = gru(p["gru"], x, rng=rng, training=training)
    scores = jnp.where(tokens == 0, -1e9, F.linear(out, **p["attention"]).squeeze(axis=-1))
    pooled = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores, axis=1), out)
    return F.linear(pooled, **p["out"]), last


def shrink_gradient(x):
    """ShrinkGradient (ports/gru.py:0): x (N, L, 8) -> (N, L, 8)."""
    return Shrink(x)


@jaxgrad.from_function
class Shrink:
    """Scale the gradient, which stabilises the training of embeddings.

    Shrink (ports/gru.py:0).
    """

    @staticmethod
    def forward(ctx, x):
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return SHRINK * grad


def gru(p, x, *, rng, training):
    """torch.nn.GRU: x (N, L, 8) -> (N, L, 8), (2, N, 8)."""
    x = x.swapaxes(0, 1)
    start = jnp.zeros((2, x.shape[1], p["weight_hh_l0"].shape[-1]), x.dtype)

    def scan(suffix, state, x):
        weights = [
            p[name + suffix] for name in ("weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_")
        ]

        def step(state, x_t):
            state = F.gru_cell(x_t, state, *weights)
            return state, state

        return lax.scan(step, state, x)

    end_l0, x = scan("l0", start[0], x)
    x = F.dropout(x, 0.1, training=training, key=rng)
    end_l1, x = scan("l1", start[1], x)
    return x.swapaxes(0, 1), jnp.stack([end_l0, end_l1])
