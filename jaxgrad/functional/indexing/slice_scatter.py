"""Returning a copy of the input with a slice or a diagonal replaced."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim
from jaxgrad.functional.indexing.gather_take import Positions


def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """Replace one slice of the input along a dim.

    Raises:
        RuntimeError: The shapes of `src` and the slice differ.
        IndexError: The index or `dim` is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(select_scatter(jnp.zeros((2, 2)), jnp.ones(2), 0, 1))
        [[0. 0.]
         [1. 1.]]

    Torch: `torch.select_scatter`. `.at[].set` is the same.
    """
    input, src = array(input), array(src, "src")
    dim = canonical_dim(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {dim}"
        )
    return _set_slice(input, src, (*[slice(None)] * dim, index))


def slice_scatter(
    input: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    """Replace a range of slices of the input along a dim.

    Raises:
        RuntimeError: The shapes of `src` and the slices differ, or the step is not positive.

    Example:
        >>> import jax.numpy as jnp
        >>> print(slice_scatter(jnp.zeros(4), jnp.ones(2), start=0, step=2))
        [1. 0. 1. 0.]

    Torch: `torch.slice_scatter`. `.at[].set` is the same.
    """
    input, src = array(input), array(src, "src")
    dim = canonical_dim(dim, input.ndim)
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, it is {step}")
    return _set_slice(input, src, (*[slice(None)] * dim, slice(start, end, step)))


def diagonal_scatter(
    input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Array:
    """Replace a diagonal of the input.

    Args:
        input: At least two dims.
        src: Has the diagonal's shape: the input's other dims, then the diagonal's length.
        offset: Number of diagonals above the main one.
        dim1: Dim of the rows.
        dim2: Dim of the columns.

    Raises:
        RuntimeError: The shapes of `src` and the diagonal differ.
        IndexError: A dim is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diagonal_scatter(jnp.zeros((2, 2)), jnp.ones(2)))
        [[1. 0.]
         [0. 1.]]

    Torch: `torch.diagonal_scatter`.
    """
    input, src = array(input), array(src, "src")
    rows, columns = (canonical_dim(d, input.ndim) for d in (dim1, dim2))
    ends = input.shape[rows], input.shape[columns]
    length = max(min(ends[0] + min(offset, 0), ends[1] - max(offset, 0)), 0)
    at = jnp.arange(length)
    matrices = jnp.moveaxis(input, (rows, columns), (-2, -1))
    positions = (..., at - min(offset, 0), at + max(offset, 0))
    return jnp.moveaxis(_set_slice(matrices, src, positions), (-2, -1), (rows, columns))


def _set_slice(input: Array, src: Array, positions: Positions) -> Array:
    shape = jax.eval_shape(lambda x: x[positions], input).shape
    if src.shape != shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}"
        )
    return input.at[positions].set(src.astype(input.dtype))
