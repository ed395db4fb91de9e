"""The sorting order of elements, which has no gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def stable_order(input: jax.Array, axis: int, descending: bool = False) -> jax.Array:
    """Return the indices that sort the input along an axis, with ties in their original order."""
    fixed = jax.lax.stop_gradient(input)
    return jnp.argsort(fixed, axis, stable=True, descending=descending).astype(int)
