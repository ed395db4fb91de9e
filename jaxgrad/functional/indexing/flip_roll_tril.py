"""Elements in another order: what jnp has, with torch's names, dims and errors."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, canonical_dims


def roll(input: Array, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Array:
    """The elements moved along dims, and in again at the other end; without dims all as one.

    Raises:
        RuntimeError: There are more or less shifts than dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(roll(jnp.array([1, 2, 3]), 1))
        [3 1 2]

    Torch: `torch.roll`. `jnp.roll` is the same.
    """
    input = array(input)
    moves = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    axes = (dims,) if isinstance(dims, int) else tuple(dims)
    if not axes and len(moves) == 1:
        return jnp.roll(input, moves[0])
    if len(moves) != len(axes):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}"
        )
    return jnp.roll(input, moves, tuple(canonical_dim(d, input.ndim) for d in axes))


def flip(input: Array, dims: int | Sequence[int]) -> Array:
    """The elements in reverse order along dims.

    Raises:
        RuntimeError: A dim is named twice.

    Example:
        >>> import jax.numpy as jnp
        >>> print(flip(jnp.array([1, 2, 3]), (0,)))
        [3 2 1]

    Torch: `torch.flip`. `jnp.flip` is the same.
    """
    input = array(input)
    return jnp.flip(input, canonical_dims(dims, input.ndim, empty_is_all=False))


def tril(input: Array, diagonal: int = 0) -> Array:
    """The lower triangle of matrices, zeros above.

    Raises:
        RuntimeError: There are less than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tril(jnp.array([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]

    Torch: `torch.tril`. `jnp.tril` is the same.
    """
    return jnp.tril(_matrix("tril", input), diagonal)


def triu(input: Array, diagonal: int = 0) -> Array:
    """The upper triangle of matrices, zeros below.

    Raises:
        RuntimeError: There are less than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(triu(jnp.array([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]

    Torch: `torch.triu`. `jnp.triu` is the same.
    """
    return jnp.triu(_matrix("triu", input), diagonal)


def diag(input: Array, diagonal: int = 0) -> Array:
    """The diagonal of a matrix, or the matrix of a diagonal.

    Raises:
        RuntimeError: There are neither one nor two dims.

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


def repeat_interleave(
    input: Array,
    repeats: int | Array,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Array:
    """Each element, or slice along a dim, several times in a row.

    Args:
        input: Of any shape; without a dim it is flattened.
        repeats: How often, or how often each.
        dim: Along which.
        output_size: The sum of the repeats, which `jit` needs where they are an array.

    Raises:
        RuntimeError: The repeats are negative, or more or less than the slices.

    Example:
        >>> import jax.numpy as jnp
        >>> print(repeat_interleave(jnp.array([1, 2]), 2))
        [1 1 2 2]

    Torch: `torch.repeat_interleave`.
    """
    input = array(input)
    if dim is None:
        input, dim = input.reshape(-1), 0
    dim = canonical_dim(dim, input.ndim)
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError(f"Repeats must be non-negative, they are {repeats}")
        return jnp.repeat(input, repeats, dim)
    if repeats.size not in (1, input.shape[dim]):
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.size} and input.size({dim}) = {input.shape[dim]}"
        )
    return jnp.repeat(input, repeats, dim, total_repeat_length=output_size)


def _matrix(name: str, input: Array) -> Array:
    input = array(input)
    if input.ndim < 2:
        raise RuntimeError(
            f"{name}: input tensor must have at least 2 dimensions, its shape is "
            f"{list(input.shape)}"
        )
    return input
