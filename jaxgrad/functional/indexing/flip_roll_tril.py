"""Rearranging elements: jnp's functions with torch's arguments and errors."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, canonical_dims


def roll(input: Array, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Array:
    """Shift the elements cyclically along dims; without dims the flattened input is shifted.

    Raises:
        RuntimeError: The numbers of shifts and dims differ.

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
    """Reverse the order of the elements along dims.

    Raises:
        RuntimeError: A dim is listed twice.

    Example:
        >>> import jax.numpy as jnp
        >>> print(flip(jnp.array([1, 2, 3]), (0,)))
        [3 2 1]

    Torch: `torch.flip`. `jnp.flip` is the same.
    """
    input = array(input)
    return jnp.flip(input, canonical_dims(dims, input.ndim, empty_is_all=False))


def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Swap two dims.

    Raises:
        IndexError: A dim is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(transpose(jnp.array([[1, 2, 3]]), 0, 1).shape)
        (3, 1)

    Torch: `torch.transpose`. `jnp.swapaxes` is the same.
    """
    input = array(input)
    first, second = (canonical_dim(d, input.ndim) for d in (dim0, dim1))
    return jnp.swapaxes(input, first, second) if input.ndim else input


def tril(input: Array, diagonal: int = 0) -> Array:
    """Return the lower triangle of matrices, with zeros above it.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(tril(jnp.array([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]

    Torch: `torch.tril`. `jnp.tril` is the same.
    """
    return jnp.tril(_matrix("tril", input), diagonal)


def triu(input: Array, diagonal: int = 0) -> Array:
    """Return the upper triangle of matrices, with zeros below it.

    Raises:
        RuntimeError: The input has fewer than two dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(triu(jnp.array([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]

    Torch: `torch.triu`. `jnp.triu` is the same.
    """
    return jnp.triu(_matrix("triu", input), diagonal)


def repeat_interleave(
    input: Array, repeats: int | Array, dim: int | None = None, *, output_size: int | None = None
) -> Array:
    """Repeat each element, or each slice along a dim, several times in a row.

    Args:
        input: Any shape; it is flattened if `dim` is None.
        repeats: Number of repeats, one for all slices or one per slice.
        dim: Dim to repeat along.
        output_size: Sum of the repeats, required under `jit` if they are an array.

    Raises:
        RuntimeError: A repeat is negative, or `repeats` does not have one number per slice.

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
