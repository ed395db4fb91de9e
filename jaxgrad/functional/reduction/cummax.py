"""Running largest and smallest elements: torch's gradients at ties."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dim
from jaxgrad.functional._core.dtypes import reject


class Running(NamedTuple):
    """The running extreme, and where it is."""

    values: jax.Array
    indices: jax.Array


def cummax(input: jax.Array, dim: int) -> Running:
    """The running maximum along a dim, with its index; the latest of a tie, NaN wins.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummax(jnp.array([1.0, 1.0, 0.0]), 0))
        [1. 1. 1.] [0 1 1]

    Gradient conventions: docs/operators.md.
    Torch: `torch.cummax`.

    Differs from jax in:
        1. The latest of a tie has the gradient (`lax.cummax`: shared).
    """
    return _running("cummax", input, dim, jnp.greater_equal)


def cummin(input: jax.Array, dim: int) -> Running:
    """The running minimum along a dim, with its index; the latest of a tie, NaN wins.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*cummin(jnp.array([1.0, 1.0, 2.0]), 0))
        [1. 1. 1.] [0 1 1]

    Gradient conventions: docs/operators.md.
    Torch: `torch.cummin`.

    Differs from jax in:
        1. The latest of a tie has the gradient (`lax.cummin`: shared).
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
    place = jnp.arange(input.shape[axis]).reshape(-1, *(1 for _ in range(input.ndim - axis - 1)))
    place = jnp.broadcast_to(place, input.shape)

    def later(a: Any, b: Any) -> Any:
        taken = wins(b[0], a[0]) | jnp.isnan(b[0])
        return jnp.where(taken, b[0], a[0]), jnp.where(taken, b[1], a[1])

    _, at = jax.lax.associative_scan(later, (fixed, place), axis=axis)
    at = at.astype(int)
    return Running(jnp.take_along_axis(input, at, axis), at)
