"""Layers that move elements or change the shape of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes


class Identity(Layer):
    """Return the input; the constructor accepts any arguments and ignores them.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Identity(54, unused=True)(jnp.ones(2)))
        [1. 1.]

    Torch: `torch.nn.Identity`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs
        super().__init__()

    def __call__(self, input: Array) -> Array:
        return input


class Flatten(Layer):
    """Join consecutive dims to one.

    Args:
        start_dim: The first of the dims.
        end_dim: The last of the dims.

    Raises:
        IndexError: The input does not have one of the dims.
        RuntimeError: `start_dim` comes after `end_dim`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Flatten()(jnp.ones((5, 2, 3))).shape)
        (5, 6)

    Torch: `torch.nn.Flatten`.
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def __call__(self, input: Array) -> Array:
        start, end = _dim(self.start_dim, input.ndim), _dim(self.end_dim, input.ndim)
        if start > end:
            raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
        return jnp.reshape(input, _joined(input.shape, start, end))


class Unflatten(Layer):
    """Split a dim into several.

    Args:
        dim: The dim to split.
        unflattened_size: The sizes that replace it, of which one may be -1.

    Raises:
        TypeError: `unflattened_size` is not a sequence of integers.
        RuntimeError: The sizes do not multiply to that of the dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Unflatten(1, (2, -1))(jnp.ones((5, 6))).shape)
        (5, 2, 3)

    Torch: `torch.nn.Unflatten`.
    """

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, tuple | list):
            name = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {name}")
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {place}"
                )
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def __call__(self, input: Array) -> Array:
        dim = _dim(self.dim, input.ndim)
        parts, size = self.unflattened_size, input.shape[dim]
        known = 1
        for part in parts:
            known *= part if part != -1 else 1
        if parts.count(-1) > 1 or (size % known if -1 in parts and known else size != known):
            raise RuntimeError(
                f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim "
                f"{self.dim} ({size}) in the input tensor"
            )
        whole = tuple(size // known if part == -1 else part for part in parts)
        return jnp.reshape(input, (*input.shape[:dim], *whole, *input.shape[dim + 1 :]))


class Fold(Layer):
    """Sum the columns of windows, `(N, C * window, L)`, into an image `(N, C, H, W)`.

    Args:
        output_size: The size of the image.
        kernel_size: Size of a window.
        dilation: Step between the elements of a window.
        padding: Width of the padding on each side.
        stride: Step of the window.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Fold(3, 2)(jnp.ones((1, 4, 4))).shape)
        (1, 1, 3, 3)

    Torch: `torch.nn.Fold`.
    """

    def __init__(
        self,
        output_size: Sizes,
        kernel_size: Sizes,
        dilation: Sizes = 1,
        padding: Sizes = 0,
        stride: Sizes = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.dilation, self.padding, self.stride)
        return functional.fold(input, self.output_size, *windows)


class Unfold(Layer):
    """The windows of an image `(N, C, H, W)` as columns; see `Fold`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Unfold(2)(jnp.ones((1, 1, 3, 3))).shape)
        (1, 4, 4)

    Torch: `torch.nn.Unfold`.
    """

    def __init__(
        self, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.dilation, self.padding, self.stride)
        return functional.unfold(input, *windows)


def _dim(dim: int, ndim: int) -> int:
    """Return a dim counted from the start; a scalar has one dim here."""
    ndim = max(ndim, 1)
    if not -ndim <= dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], "
            f"but got {dim})"
        )
    return dim % ndim


def _joined(shape: tuple[int, ...], start: int, end: int) -> tuple[int, ...]:
    size = 1
    for n in shape[start : end + 1]:
        size *= n
    return (*shape[:start], size, *shape[end + 1 :])
