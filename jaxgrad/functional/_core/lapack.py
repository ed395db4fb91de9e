"""Inputs that LAPACK cannot handle."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def nan_if_infinite(x: jax.Array) -> jax.Array:
    """Replace matrices that contain an infinity by NaN.

    LAPACK's singular value iteration, used for 3 x 3 and larger, may never end on an infinity, but
    it returns at once on NaN.
    """
    if min(x.shape[-2:]) < 3:
        return x
    return x * jnp.where(jnp.any(jnp.isinf(x), (-2, -1), keepdims=True), jnp.nan, 1)
