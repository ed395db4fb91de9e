"""Cumulative maximum and minimum with torch's gradients at ties."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dim
from jaxgrad.functional._core.dtypes import reject


class Running(NamedTuple):
    """The running extremum at each position, and its index."""

    values: jax.Array
    indices: jax.Array


def cummax(input: jax.Array, dim: int) -> Running:
    """Return the running maximum along a dim and the index of its last occurrence; NaN propagates.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummax(jnp.array([1.0, 1.0, 0.0]), 0))
        [1. 1. 1.] [0 1 1]

    Torch: `torch.cummax`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The last of a tie receives the gradient (`lax.cummax`: ties share it).
    """
    return _running("cummax", input, dim, jnp.greater_equal)


def cummin(input: jax.Array, dim: int) -> Running:
    """Return the running minimum along a dim and the index of its last occurrence; NaN propagates.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummin(jnp.array([1.0, 1.0, 2.0]), 0))
        [1. 1. 1.] [0 1 1]

    Torch: `torch.cummin`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The last of a tie receives the gradient (`lax.cummin`: ties share it).
    """
    return _running("cummin", input, dim, jnp.less_equal)


def _running(name: str, input: Any, dim: int, wins: Any) -> Running:
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return Running(input, jnp.zeros((), int))
    if input.size:
        reject(name, "complex", input)
    fixed = jax.lax.stop_gradient(input)
    position = jnp.arange(input.shape[axis]).reshape(-1, *[1] * (input.ndim - axis - 1))
    position = jnp.broadcast_to(position, input.shape)

    def later(a: Any, b: Any) -> Any:
        replaces = wins(b[0], a[0]) | jnp.isnan(b[0])
        return jnp.where(replaces, b[0], a[0]), jnp.where(replaces, b[1], a[1])

    _, indices = jax.lax.associative_scan(later, (fixed, position), axis=axis)
    indices = indices.astype(int)
    return Running(jnp.take_along_axis(input, indices, axis), indices)
