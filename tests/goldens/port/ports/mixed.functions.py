"""JAX port of Block (ports/mixed.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

WIDTH = 4
EPS = 1e-6


def block(p, x):
    """An RMS norm in float32, attention and a gated layer; `low` runs the products in bfloat16.

    Block (ports/mixed.py:0): x (N, L, 4) -> (N, L, 4).
    """
    q, k, v = jnp.split(F.linear(norm(p, x), **p["qkv"]), 3, axis=-1)
    weights = jax.nn.softmax((q @ k.swapaxes(1, 2) / WIDTH**0.5).astype(jnp.float32), axis=-1)
    x = x + F.linear(weights.astype(v.dtype) @ v, **p["proj"])
    return x + F.linear(jax.nn.silu(F.linear(norm(p, x), **p["up"])), **p["down"])


def norm(p, x):
    """Block.norm (ports/mixed.py:0): x (N, L, 4) -> (N, L, 4)."""
    return x * lax.rsqrt(jnp.square(x).mean(axis=-1, keepdims=True) + EPS) * p["scale"]
