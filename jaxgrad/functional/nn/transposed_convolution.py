"""Transposed convolutions, with torch's layouts, paddings and output sizes."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional._core.windows import Sizes, at_least, batched, sizes
from jaxgrad.functional.nn.convolution import (
    _check_bias,
    _check_weight,
    _grouped,
    _is_depthwise,
    _run,
    _tap,
)


Ints = Sequence[int]  # one number per spatial dim


def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Array:
    """Apply the transpose of `conv1d`, which is its gradient with respect to the input.

    Args:
        input: `(N, in, L)` or `(in, L)`.
        weight: `(in, out / groups, K)`.
        bias: `(out,)`.
        stride: Spacing in the output between neighboring elements of the input.
        padding: Number of elements to cut off the output on both sides.
        output_padding: Number of elements to add to the end of the output.
        groups: Number of groups that the channels are split into and convolved separately.
        dilation: Spacing between kernel elements.

    Raises:
        RuntimeError: The shapes are incompatible, the dtypes differ, or an option is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.array([[1.0, 2.0]]), jnp.array([[[1.0, 10.0]]])
        >>> print(conv_transpose1d(x, w, stride=2))
        [[ 1. 10.  2. 20.]]

    Torch: `torch.nn.functional.conv_transpose1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The kernel is flipped and its channel dims are swapped (`lax.conv_transpose` does so only
           with `transpose_kernel=True`).
        2. `padding` crops the output and `output_padding` extends it (`lax.conv_transpose`: "SAME"
           and "VALID" give different sizes).
    """
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Array:
    """Transpose `conv2d`, with a weight `(in, out / groups, KH, KW)`; see `conv_transpose1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv_transpose2d(jnp.ones((1, 1, 1)), jnp.ones((1, 2, 3, 3))).shape)
        (2, 3, 3)

    Torch: `torch.nn.functional.conv_transpose2d`.
    """
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> Array:
    """Transpose `conv3d`, with a weight `(in, out / groups, K, K, K)`; see `conv_transpose1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv_transpose3d(jnp.ones((1, 1, 1, 1)), jnp.ones((1, 2, 3, 3, 3))).shape)
        (2, 3, 3, 3)

    Torch: `torch.nn.functional.conv_transpose3d`.
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def _transposed(
    rank: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Array:
    name = f"conv_transpose{rank}d"
    reject(name, "bool", input, weight, bias)
    x, had_batch = batched(array(input), rank, name)
    w = array(weight, "weight")
    strides = at_least(1, "stride", name, sizes(stride, rank, "stride"))
    dilations = at_least(1, "dilation", name, sizes(dilation, rank, "dilation"))
    crops = at_least(0, "padding", name, sizes(padding, rank, "padding"))
    extras = at_least(0, "output_padding", name, sizes(output_padding, rank, "output_padding"))
    _check_weight(name, x, w, bias, groups)
    if w.shape[0] < groups or w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0 and "
            f"divisible by it, but got weight of size {list(w.shape)} instead"
        )
    if x.shape[1] != w.shape[0]:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(w.shape)}, expected input{list(x.shape)} to "
            f"have {w.shape[0]} channels, but got {x.shape[1]} channels instead"
        )
    _check_bias(w, bias, w.shape[1] * groups)
    lengths = []
    for size, k, s, d, c, m in zip(
        x.shape[2:], w.shape[2:], strides, dilations, crops, extras, strict=True
    ):
        if m >= max(s, d):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {m} stride: {s} dilation: {d}"
            )
        lengths.append((size - 1) * s + 1 + d * (k - 1) - 2 * c + m)
        if lengths[-1] < 1:
            raise RuntimeError(
                f"Given input size per channel: {size}. Calculated output size per channel: "
                f"{lengths[-1]}. Output size is too small"
            )

    def convolve(x: Array, w: Array, *rest: Array) -> Array:
        if _is_depthwise(x, w, groups):
            y = _spread_depthwise(x, w, strides, dilations, crops, lengths)
        else:
            y = _spread(x, w, strides, dilations, crops, lengths, groups)
        return y + rest[0].reshape(-1, *[1] * rank) if rest else y

    return _run(convolve, x, w, bias, had_batch)


def _spread(
    x: Array, w: Array, strides: Ints, dilations: Ints, crops: Ints, lengths: Ints, groups: int
) -> Array:
    kernel = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    kernel = jnp.swapaxes(kernel, 1, 2).reshape(-1, w.shape[0] // groups, *w.shape[2:])
    kernel = jnp.flip(kernel, range(2, kernel.ndim))
    pads, starts = [], []
    for size, k, s, d, c, n in zip(
        x.shape[2:], w.shape[2:], strides, dilations, crops, lengths, strict=True
    ):
        # In float64 even the cropped elements are computed, because in torch their zero cotangents
        # times infinite weights are NaN.
        start = c if x.dtype == jnp.float64 else 0
        low = d * (k - 1) - c + start
        high = max(low, n + start - low - (size - 1) * s - 1 + d * (k - 1))
        # XLA aborts on some dilated inputs without padding, so one element is added and cropped.
        pads.append((low, high + int(low == high == 0 and s > 1)))
        starts.append(start)
    step = (1,) * len(strides)
    y = _grouped(x, kernel, groups, step, pads, lhs_dilation=strides, rhs_dilation=dilations)
    if x.dtype == jnp.float64:
        y = jax.lax.optimization_barrier(y)
    return y[:, :, *(slice(at, at + n) for at, n in zip(starts, lengths, strict=True))]


def _spread_depthwise(
    x: Array, w: Array, strides: Ints, dilations: Ints, crops: Ints, lengths: Ints
) -> Array:
    """Transpose a depthwise convolution, as a sum of one padded product per kernel element."""
    y = jnp.zeros((), x.dtype)
    for tap in np.ndindex(w.shape[2:]):
        product = x[:, :, None] * _tap(w, tap, x.shape[1])
        ends = []
        for size, k, s, d, c, n in zip(
            x.shape[2:], tap, strides, dilations, crops, lengths, strict=True
        ):
            low = d * k - c
            ends.append((low, n - low - (size - 1) * s - 1, s - 1))
        y = y + jax.lax.pad(product, jnp.zeros((), x.dtype), [(0, 0, 0)] * 3 + ends)
    return y.reshape(x.shape[0], -1, *lengths)
