"""Sorting, with torch's order of ties and NaN."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.reduction.amax_max import ValuesIndices


def sort(
    input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> ValuesIndices:
    """Sort along a dim and return values and indices; ties keep their order and NaN is largest.

    Args:
        input: Any shape.
        dim: Dim to sort along.
        descending: Whether the largest comes first.
        stable: Ignored: the sort is always stable (torch's is with True, or up to 16 elements).

    Example:
        >>> import jax.numpy as jnp
        >>> print(sort(jnp.array([1.0, 2.0, 1.0]), descending=True).indices)
        [1 0 2]

    Torch: `torch.sort`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Ties keep their order in a descending sort (`jnp.sort(x)[::-1]`: reversed).
    """
    reject("sort", "complex", input)
    del stable
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    positions = jax.lax.broadcasted_iota(int, input.shape, axis)
    operands = (input, positions)
    if descending:  # twice reversed, so that ties keep their order
        operands = tuple(jnp.flip(x, axis) for x in operands)
    ordered = jax.lax.sort(operands, dimension=axis, is_stable=True, num_keys=1)
    return ValuesIndices(*(jnp.flip(x, axis) for x in ordered) if descending else ordered)


def argsort(
    input: Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> Array:
    """Return the indices that sort the input along a dim, as `sort` does.

    Example:
        >>> import jax.numpy as jnp
        >>> print(argsort(jnp.array([3.0, 1.0, 2.0])))
        [1 2 0]

    Torch: `torch.argsort`.
    """
    reject("argsort", "complex", input)
    return sort(input, dim, descending, stable=stable).indices


def msort(input: Array) -> Array:
    """Sort along the first dim and return the values.

    Example:
        >>> import jax.numpy as jnp
        >>> print(msort(jnp.array([3.0, 1.0, 2.0])))
        [1. 2. 3.]

    Torch: `torch.msort`.
    """
    reject("msort", "complex", input)
    return sort(input, 0).values


def topk(
    input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesIndices:
    """Return the k largest (or smallest) values along a dim, in order, with their indices.

    Among ties the first element is taken; torch does not specify which one.

    Args:
        input: Any shape.
        k: Number of values.
        dim: Dim to select along.
        largest: Whether to return the largest values rather than the smallest.
        sorted: Ignored: the values are always sorted.

    Raises:
        RuntimeError: `k` is negative or exceeds the size of the dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(topk(jnp.array([3.0, 1.0, 2.0]), 2).values)
        [3. 2.]

    Torch: `torch.topk`.
    """
    reject("topk", "bool complex", input)
    del sorted
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range: k is {k}, the dim has {size}")
    values, at = sort(input, dim, descending=largest)
    if not input.ndim:
        return ValuesIndices(values, at)
    first = [jax.lax.slice_in_dim(x, 0, k, axis=axis) for x in (values, at)]
    return ValuesIndices(*first)
