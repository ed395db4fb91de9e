"""Writing slices and diagonals."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim


Places = tuple[Any, ...]


def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """The input with one slice along a dim replaced.

    Raises:
        RuntimeError: The source has another shape than the slice.
        IndexError: There is no such slice.

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
    """The input with some slices along a dim replaced.

    Raises:
        RuntimeError: The source has another shape than the slices, or the step is not positive.

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
    """The input with a diagonal replaced.

    Args:
        input: At least two dims.
        src: Of the diagonal's shape: the other dims, then its length.
        offset: How far above the main diagonal it is.
        dim1: The dim of the rows.
        dim2: The dim of the columns.

    Raises:
        RuntimeError: The source has another shape than the diagonal.
        IndexError: There is no such dim.

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
    places = (..., at - min(offset, 0), at + max(offset, 0))
    return jnp.moveaxis(_set_slice(matrices, src, places), (-2, -1), (rows, columns))


def _set_slice(input: Array, src: Array, places: Places) -> Array:
    shape = jax.eval_shape(lambda x: x[places], input).shape
    if src.shape != shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(shape)}"
        )
    return input.at[places].set(src.astype(input.dtype))
