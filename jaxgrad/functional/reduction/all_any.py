"""Tests and counts of nonzero elements."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import Dim, array, canonical_dims


def all(input: Array, dim: Dim = None, keepdim: bool = False) -> Array:
    """Return whether all elements along the given dims are nonzero.

    Example:
        >>> import jax.numpy as jnp
        >>> print(all(jnp.array([True, False])))
        False

    Torch: `torch.all`.
    """
    return _logical(jnp.all, input, dim, keepdim)


def any(input: Array, dim: Dim = None, keepdim: bool = False) -> Array:
    """Return whether any element along the given dims is nonzero.

    Example:
        >>> import jax.numpy as jnp
        >>> print(any(jnp.array([True, False])))
        True

    Torch: `torch.any`.
    """
    return _logical(jnp.any, input, dim, keepdim)


def _logical(fun: Any, input: Any, dim: Dim, keepdim: bool) -> Array:
    input = array(input)
    axes = canonical_dims(dim, input.ndim, empty_is_all=False)
    result = fun(input != 0, axes, keepdims=keepdim)
    return result.astype(jnp.uint8) if input.dtype == jnp.uint8 else result


def count_nonzero(input: Array, dim: Dim = None) -> Array:
    """Count the nonzero elements along the given dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(count_nonzero(jnp.array([1.0, 0.0])))
        1

    Torch: `torch.count_nonzero`.
    """
    input = array(input)
    return jnp.sum(input != 0, canonical_dims(dim, input.ndim)).astype(int)
