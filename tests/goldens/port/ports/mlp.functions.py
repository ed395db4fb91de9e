"""JAX port of MLP (ports/mlp.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def mlp(p, x, context, *, rng=None, training=False):
    """MLP (ports/mlp.py:0): x (N, 6), context (N, 4) -> h (N, 6), probe (N, 4)."""
    h = weight_norm_linear(p["mix"], unit(F.linear(x, **p["features"])))
    h = h + F.linear(context, **p["context"])
    for block, block_rng in zip(p["blocks"], split_rng(rng, len(p["blocks"]))):
        h = block_forward(block, h, rng=block_rng, training=training)
    weight = p["features"]["weight"].T
    return F.linear(h, weight, p["decoder_bias"]), probe(p["probe"], h)


def weight_norm_linear(p, x):
    """WeightNormLinear (ports/mlp.py:0): x (N, 8) -> (N, 8)."""
    return F.linear(x, p["g"] * p["v"] / F.norm(p["v"], dim=1, keepdim=True), p["bias"])


def unit(x):
    """Unit (ports/mlp.py:0): x (N, 8) -> (N, 8)."""
    return x / (F.norm(x, dim=-1, keepdim=True) + 1e-6)


def block_forward(p, x, *, rng, training):
    """Block (ports/mlp.py:0): x (N, 8) -> (N, 8)."""
    y = jax.nn.silu(F.linear(norm(p["norm"], x), **p["linear"]))
    return x + F.dropout(y, p=0.1, training=training, key=rng)


def norm(p, x):
    """Divide by the unbiased std plus eps, as in the Annotated Transformer.

    Norm (ports/mlp.py:0): x (N, 8) -> (N, 8).
    """
    mean, std = x.mean(axis=-1, keepdims=True), F.std(x, dim=-1, keepdim=True)
    return p["a_2"] * (x - mean) / (std + 1e-6) + p["b_2"]


def probe(p, x):
    """Probe (ports/mlp.py:0): x (N, 8) -> (N, 4)."""
    return F.linear(lax.stop_gradient(x), **p["linear"])


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
