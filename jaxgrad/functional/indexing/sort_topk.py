"""Sorting: torch's order of ties and of NaN."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dim
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.order import stable_order
from jaxgrad.functional.reduction.amax_max import ValuesIndices


def sort(
    input: jax.Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> ValuesIndices:
    """The values along a dim in order, with their indices; ties keep their order, NaN is largest.

    Args:
        input: Of any shape.
        dim: The dim.
        descending: Whether the largest comes first.
        stable: It always is, as torch's is on the CPU for up to 16 elements and beyond with True.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sort(jnp.array([1.0, 2.0, 1.0]), descending=True).indices)
        [1 0 2]

    Gradient conventions: docs/operators.md.
    Torch: `torch.sort`.

    Differs from jax in:
        1. Descending, ties keep their order (`jnp.sort(x)[::-1]`: reversed).
    """
    reject("sort", "complex", input)
    del stable
    input = array(input)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return ValuesIndices(input, jnp.zeros((), int))
    at = stable_order(input, axis, descending)
    return ValuesIndices(jnp.take_along_axis(input, at, axis), at)


def argsort(
    input: jax.Array, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> jax.Array:
    """The indices of `sort`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(argsort(jnp.array([3.0, 1.0, 2.0])))
        [1 2 0]

    Torch: `torch.argsort`.
    """
    reject("argsort", "complex", input)
    return sort(input, dim, descending, stable=stable).indices


def msort(input: jax.Array) -> jax.Array:
    """The values of `sort` along the first dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(msort(jnp.array([3.0, 1.0, 2.0])))
        [1. 2. 3.]

    Torch: `torch.msort`.
    """
    reject("msort", "complex", input)
    return sort(input, 0).values


def topk(
    input: jax.Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesIndices:
    """The k largest values along a dim, or the smallest, in order, with their indices.

    Which element of a tie it is, torch leaves open; here it is the first.

    Args:
        input: Of any shape.
        k: How many.
        dim: The dim.
        largest: Whether the largest or the smallest.
        sorted: They always are.

    Raises:
        RuntimeError: There are not so many.

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
