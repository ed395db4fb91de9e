"""Diagonals as views and as matrices: what jnp has, with torch's names, dims and errors."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, exact
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.reduction.sum import widened


def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A diagonal of matrices, as the last dim.

    Raises:
        RuntimeError: The two dims are one.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diagonal(jnp.array([[1, 2], [3, 4]])))
        [1 4]

    Torch: `torch.diagonal`. `jnp.diagonal` is the same.
    """
    input = array(input)
    rows, columns = _different(dim1, dim2, input.ndim)
    return jnp.diagonal(input, offset, rows, columns)


def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices of diagonals, which are the last dim; zeros elsewhere.

    Args:
        input: At least one dim.
        offset: How far above the main diagonal.
        dim1: The dim of the rows in the result.
        dim2: The dim of the columns.

    Raises:
        RuntimeError: The two dims are one.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diag_embed(jnp.array([1, 2])))
        [[1 0]
         [0 2]]

    Torch: `torch.diag_embed`.
    """
    input = array(input)
    rows, columns = _different(dim1, dim2, input.ndim + 1)
    n = input.shape[-1]
    side = n + abs(offset)
    at = jnp.arange(n)
    made = jnp.zeros((*input.shape[:-1], side, side), input.dtype)
    made = made.at[..., at - min(offset, 0), at + max(offset, 0)].set(input)
    return jnp.moveaxis(made, (-2, -1), (rows, columns))


def diagflat(input: Array, offset: int = 0) -> Array:
    """The matrix of a diagonal, from an array of any shape.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diagflat(jnp.array([[1, 2]])))
        [[1 0]
         [0 2]]

    Torch: `torch.diagflat`. `jnp.diagflat` is the same.
    """
    return jnp.diagflat(array(input), offset)


def trace(input: Array) -> Array:
    """The sum of a matrix's diagonal; of integers it is int64.

    Raises:
        RuntimeError: There are not two dims.

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


def _different(dim1: int, dim2: int, ndim: int) -> tuple[int, int]:
    rows, columns = canonical_dim(dim1, ndim), canonical_dim(dim2, ndim)
    if rows == columns:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return rows, columns
