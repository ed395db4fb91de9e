"""Autocast recognizes biases in a program graph."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

import jaxgrad


F = torch.nn.functional
RNG = np.random.default_rng(11)
X, W = (RNG.normal(size=(4, 4)).astype("f") / 2 for _ in range(2))
B = RNG.normal(size=4).astype("f")


def test_a_bias_is_distinguished_from_data() -> None:
    """A vector example under `vmap` is not a bias, but a vector that has a weight penalty is."""
    x, w, b = torch.tensor(X), torch.tensor(W), torch.tensor(B)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        theirs = x + F.layer_norm(x, (4,)) @ w, F.linear(x, w.T, b)

    def program(x: Any, w: Any, b: Any) -> Any:
        normed = (x - x.mean()) * lax.rsqrt(x.var() + 1e-5)
        return x + normed @ w, x @ w + b, jnp.sum(b**2)

    ours = jax.vmap(jaxgrad.autocast(program), (0, None, None))(
        jnp.asarray(X), jnp.asarray(W), jnp.asarray(B)
    )
    assert [str(v.dtype)[6:] for v in theirs] == [str(v.dtype) for v in ours[:2]]
