"""Parameters of distributions as arrays of one floating dtype."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ._arguments import floating, promoted, together


Array = jax.Array


def _floats(*args: Any, elementwise: bool = True) -> list[Array]:
    return [floating(x) for x in (together if elementwise else promoted)(*args)]


def _expanded(*params: Array) -> list[Array]:
    """Parameters in one shape, as a distribution of torch keeps them.

    Their gradients are summed element by element: where slopes are infinite, inf and -inf make NaN.
    """
    return jnp.broadcast_arrays(*params)


def _one(name: str, first: Any, second: Any, names: str = "probs and logits") -> None:
    if (first is None) == (second is None):
        raise TypeError(f"{name} needs one of {names}, not both or neither")
