"""Partial inverse of max pooling, with torch's output sizes and errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, require
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.windows import Sizes, batched, sizes


def max_unpool1d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """Write values to the indices that `max_pool1d` returned, with zeros elsewhere.

    Args:
        input: Maxima, `(N, C, L)` or `(C, L)`.
        indices: Flat index of each maximum, of the input's shape.
        kernel_size: `kernel_size` of the max pool.
        stride: `stride` of the max pool.
        padding: `padding` of the max pool.
        output_size: Input size of the max pool, needed if several sizes give as many maxima.

    Raises:
        RuntimeError: An index is out of range, or `indices` and `input` differ in shape.
        ValueError: The max pool does not give this many maxima for `output_size`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool1d(jnp.array([[5.0, 6.0]]), jnp.array([[1, 2]]), 2))
        [[0. 5. 6. 0.]]

    Torch: `torch.nn.functional.max_unpool1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Of several values with the same index the last is written, but all receive the gradient
           (`.at[].set`: the last alone).
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """Write values `(N, C, H, W)` to the indices from `max_pool2d`; see `max_unpool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool2d(jnp.ones((1, 1, 1)), jnp.array([[[2]]]), 2)[0])
        [[0. 0.]
         [1. 0.]]

    Torch: `torch.nn.functional.max_unpool2d`.
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Array:
    """Write values `(N, C, D, H, W)` to the indices from `max_pool3d`; see `max_unpool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(max_unpool3d(jnp.ones((1, 1, 1, 1)), jnp.array([[[[2]]]]), 2).ravel())
        [0. 0. 1. 0. 0. 0. 0. 0.]

    Torch: `torch.nn.functional.max_unpool3d`.
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)


def _max_unpool(
    places: int,
    input: Array,
    indices: Array,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> Array:
    name = f"max_unpool{places}d"
    reject(name, "bool integer complex", input)
    kernel = sizes(kernel_size, places, "kernel_size")
    steps = kernel if stride is None or stride == [] else sizes(stride, places, "stride")
    pads = sizes(padding, places, "padding")
    x, had_batch = batched(array(input), places, name)
    indices = array(indices, "indices")
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices.shape != input.shape:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
        )
    default = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(x.shape[2:], steps, kernel, pads, strict=True)
    ]
    size = default if output_size is None else list(output_size)[-places:]
    if output_size is not None and len(output_size) not in (places, places + 2):
        raise ValueError(
            f"output_size should be a sequence containing {places} or {places + 2} elements, but "
            f"it has a length of '{len(output_size)}'"
        )
    for d, (n, usual, s) in enumerate(zip(size, default, steps, strict=True)):
        if not usual - s < n < usual + s:
            raise ValueError(
                f'invalid output_size "{size}" (dim {d} must be between {usual - s} and '
                f"{usual + s})"
            )
    total = math.prod(size)
    if indices.size:
        require(
            jnp.all((indices >= 0) & (indices < total)),
            RuntimeError(f"Found an invalid max index: the output volume has the size {size}"),
        )
    output = _scatter(
        x.reshape(*x.shape[:2], -1), index=indices.reshape(*x.shape[:2], -1), size=total
    )
    output = output.reshape(*x.shape[:2], *size)
    return output if had_batch else output[0]


def _zeros_and_rows(x: Array, size: int) -> tuple[Array, Any]:
    rows = np.arange(x.shape[0])[:, None, None], np.arange(x.shape[1])[None, :, None]
    return jnp.zeros((*x.shape[:2], size), x.dtype), rows


def _scatter_tangent(t: Array, *_: Array, index: Array, size: int) -> Array:
    zeros, rows = _zeros_and_rows(t, size)
    return zeros.at[(*rows, index)].add(t)


@derivative(_scatter_tangent)
def _scatter(x: Array, *, index: Array, size: int) -> Array:
    zeros, rows = _zeros_and_rows(x, size)
    return zeros.at[(*rows, index)].set(x)
