"""The order of the elements, which has no gradient."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def stable_order(input: jax.Array, axis: int, descending: bool = False) -> jax.Array:
    fixed = jax.lax.stop_gradient(input)
    return jnp.argsort(fixed, axis, stable=True, descending=descending).astype(int)
