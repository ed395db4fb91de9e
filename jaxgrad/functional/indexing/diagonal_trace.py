"""Extracting and building diagonals: jnp's functions with torch's arguments and errors."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.reduction.sum_mean_prod import widened


def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """Return a diagonal of each matrix as the last dim; the errors are those of `diag_embed`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diagonal(jnp.array([[1, 2], [3, 4]])))
        [1 4]

    Torch: `torch.diagonal`. `jnp.diagonal` is the same.
    """
    input = array(input)
    rows, columns = _distinct_dims(dim1, dim2, input.ndim)
    return jnp.diagonal(input, offset, rows, columns)


def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Build matrices that have the last dim of the input as a diagonal and zeros elsewhere.

    Args:
        input: At least one dim.
        offset: How far above the main diagonal to write.
        dim1: Dim of the rows in the result.
        dim2: Dim of the columns in the result.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same dim.
        IndexError: A dim is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diag_embed(jnp.array([1, 2])))
        [[1 0]
         [0 2]]

    Torch: `torch.diag_embed`.
    """
    input = array(input)
    rows, columns = _distinct_dims(dim1, dim2, input.ndim + 1)
    n = input.shape[-1]
    size = n + abs(offset)
    at = jnp.arange(n)
    matrices = jnp.zeros((*input.shape[:-1], size, size), input.dtype)
    matrices = matrices.at[..., at - min(offset, 0), at + max(offset, 0)].set(input)
    return jnp.moveaxis(matrices, (-2, -1), (rows, columns))


def diagflat(input: Array, offset: int = 0) -> Array:
    """Build the matrix that has the flattened input as a diagonal.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diagflat(jnp.array([[1, 2]])))
        [[1 0]
         [0 2]]

    Torch: `torch.diagflat`. `jnp.diagflat` is the same.
    """
    return jnp.diagflat(array(input), offset)


def trace(input: Array) -> Array:
    """Sum the diagonal of a matrix; integers are summed in int64.

    Raises:
        RuntimeError: The input does not have two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(trace(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
        5.0

    Torch: `torch.trace`. `jnp.trace` is the same.
    """
    reject("trace", "bool", input)
    input = widened(input, None)
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    return exact(jnp.trace, input)


def _distinct_dims(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    rows, columns = canonical_dim(dim1, ndim), canonical_dim(dim2, ndim)
    if rows == columns:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return rows, columns


def diag(input: Array, diagonal: int = 0) -> Array:
    """Extract the diagonal of a matrix, or build a matrix from its diagonal.

    Raises:
        RuntimeError: The input does not have one or two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diag(jnp.array([[1, 2], [3, 4]])))
        [1 4]

    Torch: `torch.diag`. `jnp.diag` is the same.
    """
    input = array(input)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return jnp.diag(input, diagonal)
