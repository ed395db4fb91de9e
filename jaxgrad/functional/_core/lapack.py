"""What LAPACK must not be given."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def nan_if_infinite(x: jax.Array) -> jax.Array:
    """NaN for matrices with an infinity: LAPACK's singular values of them may never return.

    It iterates from three on; of a NaN it returns at once.
    """
    if min(x.shape[-2:]) < 3:
        return x
    return x * jnp.where(jnp.any(jnp.isinf(x), (-2, -1), keepdims=True), jnp.nan, 1)
