"""Convolutions with torch's layouts, paddings and sizes."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from ._arguments import array, floats, in_opmath, is_floating
from ._windows import Sizes, at_least, batched, sizes


Array = jax.Array


def conv1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """The correlation of a signal with kernels.

    Args:
        input: `(N, in, L)` or `(in, L)`.
        weight: `(out, in / groups, K)`.
        bias: `(out,)`.
        stride: Steps of the kernel.
        padding: Zeros on both sides, "valid" (none) or "same".
        dilation: Steps in the kernel.
        groups: How many groups of channels see only each other.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv1d(jnp.array([[1.0, 2.0, 3.0]]), jnp.array([[[1.0, 10.0]]])))
        [[21. 32.]]

    Torch: `torch.nn.functional.conv1d`.

    Differs from jax in:
        1. `padding` is the same on both sides, also with strides (flax's "SAME": more at the end).
    """
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """The correlation of images `(N, in, H, W)` with kernels `(out, in / groups, KH, KW)`.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv2d(jnp.ones((1, 3, 3)), jnp.ones((1, 1, 3, 3)), padding=1)[0])
        [[4. 6. 4.]
         [6. 9. 6.]
         [4. 6. 4.]]

    Torch: `torch.nn.functional.conv2d`.
    """
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """The correlation of volumes `(N, in, D, H, W)` with kernels `(out, in / groups, K, K, K)`.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv3d(jnp.ones((1, 2, 2, 2)), jnp.ones((1, 1, 2, 2, 2))).ravel())
        [8.]

    Torch: `torch.nn.functional.conv3d`.
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


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
    """The transpose of `conv1d`: its gradient by the input.

    Args:
        input: `(N, in, L)` or `(in, L)`.
        weight: `(in, out / groups, K)`.
        bias: `(out,)`.
        stride: Steps between what the input's elements are spread over.
        padding: How much is cut off the output on both sides.
        output_padding: How much the output is longer at its end.
        groups: How many groups of channels see only each other.
        dilation: Steps in the kernel.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.array([[1.0, 2.0]]), jnp.array([[[1.0, 10.0]]])
        >>> print(conv_transpose1d(x, w, stride=2))
        [[ 1. 10.  2. 20.]]

    Torch: `torch.nn.functional.conv_transpose1d`.

    Differs from jax in:
        1. The kernel is flipped and its channels are swapped (`lax.conv_transpose` only with
           `transpose_kernel=True`).
        2. `padding` cuts the output, `output_padding` extends it (`lax.conv_transpose`: "SAME" and
           "VALID" have other sizes).
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
    """The transpose of `conv2d`; the weight is `(in, out / groups, KH, KW)`.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

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
    """The transpose of `conv3d`; the weight is `(in, out / groups, K, K, K)`.

    Raises:
        RuntimeError: The shapes or dtypes do not fit, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv_transpose3d(jnp.ones((1, 1, 1, 1)), jnp.ones((1, 2, 3, 3, 3))).shape)
        (2, 3, 3, 3)

    Torch: `torch.nn.functional.conv_transpose3d`.
    """
    return _transposed(3, input, weight, bias, stride, padding, output_padding, groups, dilation)


def unfold(
    input: Array, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Array:
    """The blocks under a sliding kernel, as columns.

    Args:
        input: `(N, C, H, W)` or `(C, H, W)`.
        kernel_size: Of the blocks.
        dilation: Steps in a block.
        padding: Zeros on both sides.
        stride: Steps of the blocks.

    Returns:
        `(N, C * KH * KW, blocks)`.

    Raises:
        RuntimeError: There is no block, or a size is not possible.

    Example:
        >>> import jax.numpy as jnp
        >>> print(unfold(jnp.arange(3.0).reshape(1, 1, 3), (1, 2)))
        [[0. 1.]
         [1. 2.]]

    Torch: `torch.nn.functional.unfold`.
    """
    x, had_batch = batched(floats(input, "unfold", complex=True), 2, "unfold")
    kernel, dilation, padding, stride = _block(kernel_size, dilation, padding, stride)
    rows, columns = _places("unfold", x.shape[2:], kernel, dilation, padding, stride)
    pads = ((0, 0), (0, 0), *((p, p) for p in padding))
    found = jnp.pad(x, pads)[:, :, rows[:, None, :, None], columns[None, :, None, :]]
    found = found.reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), rows[0].size * columns[0].size
    )
    return found if had_batch else found[0]


def fold(
    input: Array,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Array:
    """The sum of blocks put back in their places: the transpose of `unfold`.

    Args:
        input: `(N, C * KH * KW, blocks)` or without N.
        output_size: `(H, W)`.
        kernel_size: Of the blocks.
        dilation: Steps in a block.
        padding: Zeros that `unfold` added.
        stride: Steps of the blocks.

    Raises:
        RuntimeError: The input has another number of rows or blocks.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fold(jnp.ones((2, 2)), (1, 3), (1, 2))[0])
        [[1. 2. 1.]]

    Torch: `torch.nn.functional.fold`.
    """
    x, had_batch = batched(floats(input, "fold", complex=True), 1, "fold")
    size = sizes(output_size, 2, "output_size")
    kernel, dilation, padding, stride = _block(kernel_size, dilation, padding, stride)
    if x.shape[1] % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={x.shape[1]} and kernel_size={kernel}."
        )
    rows, columns = _places("fold", size, kernel, dilation, padding, stride)
    blocks = rows[0].size * columns[0].size
    if x.shape[2] != blocks:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {blocks}, but got {x.shape[2]}."
        )
    channels = x.shape[1] // math.prod(kernel)
    parts = x.reshape(x.shape[0], channels, *kernel, rows[0].size, columns[0].size)
    padded = [n + 2 * p for n, p in zip(size, padding, strict=True)]

    def summed(parts: Array) -> Array:
        total = jnp.zeros((x.shape[0], channels, *padded), parts.dtype)
        total = total.at[:, :, rows[:, None, :, None], columns[None, :, None, :]].add(parts)
        top, left = padding
        return total[:, :, top : top + size[0], left : left + size[1]]

    found = in_opmath(summed, parts)
    return found if had_batch else found[0]


def _conv(
    places: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Array:
    name = f"conv{places}d"
    x, had_batch = batched(array(input), places, name)
    w = array(weight, "weight")
    strides = at_least(1, "stride", name, sizes(stride, places, "stride"))
    dilations = at_least(1, "dilation", name, sizes(dilation, places, "dilation"))
    _check_weight(name, x, w, bias, groups)
    if groups and w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(w.shape)} instead"
        )
    if x.shape[1] != w.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} "
            f"to have {w.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    _check_bias(w, bias, w.shape[0])
    reach = [d * (k - 1) for d, k in zip(dilations, w.shape[2:], strict=True)]
    pads = _paddings(name, padding, places, reach, strides)
    for size, (low, high), far in zip(x.shape[2:], pads, reach, strict=True):
        if size + low + high <= far:
            raise RuntimeError(
                f"Calculated padded input size per channel: ({size + low + high}). Kernel size: "
                f"({far + 1}). Kernel size can't be greater than actual input size"
            )

    def convolved(x: Array, w: Array, *rest: Array) -> Array:
        y = jax.lax.conv_general_dilated(
            x, w, strides, pads, rhs_dilation=dilations, feature_group_count=groups
        )
        return y + rest[0].reshape(-1, *[1] * places) if rest else y

    return _run(convolved, x, w, bias, had_batch)


def _transposed(
    places: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes,
    output_padding: Sizes,
    groups: int,
    dilation: Sizes,
) -> Array:
    name = f"conv_transpose{places}d"
    x, had_batch = batched(array(input), places, name)
    w = array(weight, "weight")
    strides = at_least(1, "stride", name, sizes(stride, places, "stride"))
    dilations = at_least(1, "dilation", name, sizes(dilation, places, "dilation"))
    cut = at_least(0, "padding", name, sizes(padding, places, "padding"))
    more = at_least(0, "output_padding", name, sizes(output_padding, places, "output_padding"))
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
    pads = []
    for size, k, s, d, c, m in zip(
        x.shape[2:], w.shape[2:], strides, dilations, cut, more, strict=True
    ):
        if m >= max(s, d):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {m} stride: {s} dilation: {d}"
            )
        low = d * (k - 1) - c
        pads.append((low, low + m))
        if (size - 1) * s + 1 + 2 * low + m - d * (k - 1) < 1:
            raise RuntimeError(
                f"Given input size per channel: {size}. Calculated output size per channel: "
                f"{(size - 1) * s + 1 + 2 * low + m - d * (k - 1)}. Output size is too small"
            )

    def convolved(x: Array, w: Array, *rest: Array) -> Array:
        kernel = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
        kernel = jnp.swapaxes(kernel, 1, 2).reshape(-1, w.shape[0] // groups, *w.shape[2:])
        kernel = jnp.flip(kernel, range(2, kernel.ndim))
        # XLA aborts on some dilated inputs without padding: it gets one more place, cut off again.
        wide = [
            (0, int(s > 1)) if ends == (0, 0) else ends
            for ends, s in zip(pads, strides, strict=True)
        ]
        y = jax.lax.conv_general_dilated(
            x, kernel, (1,) * places, wide, lhs_dilation=strides, rhs_dilation=dilations,
            feature_group_count=groups,
        )  # fmt: skip
        kept = (n - (ends != given) for n, ends, given in zip(y.shape[2:], pads, wide, strict=True))
        y = y[:, :, *(slice(n) for n in kept)]
        return y + rest[0].reshape(-1, *[1] * places) if rest else y

    return _run(convolved, x, w, bias, had_batch)


def _run(fun, x: Array, w: Array, bias: Array | None, had_batch: bool) -> Array:
    given = (x, w) if bias is None else (x, w, bias)
    y = in_opmath(fun, *given) if is_floating(x) else fun(*given)
    return y if had_batch else y[0]


def _check_weight(name: str, x: Array, w: Array, bias: Array | None, groups: int) -> None:
    if groups < 1:
        raise RuntimeError(f"non-positive groups is not supported, groups={groups}")
    if w.ndim != x.ndim:
        raise RuntimeError(
            f"{name}: weight should have {x.ndim} dimensions, but its shape is {list(w.shape)}"
        )
    for what, y in (("weight", w), ("bias", bias)):
        if y is not None and y.dtype != x.dtype:
            raise RuntimeError(
                f"{name}: expected input and {what} of one scalar type, found {x.dtype} and "
                f"{y.dtype}"
            )


def _check_bias(w: Array, bias: Array | None, channels: int) -> None:
    if bias is not None and bias.shape != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
            f"{channels} elements, but got bias of size {list(bias.shape)} instead"
        )


def _paddings(
    name: str, padding: Sizes | str, places: int, reach: list[int], strides: tuple[int, ...]
) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * places
    if padding == "same":
        if max(strides) > 1:
            raise RuntimeError(
                f"padding='same' is not supported for strided convolutions, stride={strides}"
            )
        return [(far // 2, far - far // 2) for far in reach]
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'; use 'same' or 'valid'")
    found = sizes(padding, places, "padding")
    if min(found) < 0:
        raise RuntimeError(f"{name}: negative padding is not supported, padding={found}")
    return [(p, p) for p in found]


def _block(kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes):
    kernel = at_least(1, "kernel_size", "unfold", sizes(kernel_size, 2, "kernel_size"))
    dilations = at_least(1, "dilation", "unfold", sizes(dilation, 2, "dilation"))
    paddings = at_least(0, "padding", "unfold", sizes(padding, 2, "padding"))
    return kernel, dilations, paddings, at_least(1, "stride", "unfold", sizes(stride, 2, "stride"))


def _places(name, size, kernel, dilation, padding, stride) -> list[np.ndarray]:
    """For each dim the places in the padded input: `(kernel, blocks)`."""
    found = []
    for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True):
        blocks = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if blocks < 1:
            raise RuntimeError(
                f"{name}: Given input with spatial size {tuple(size)}, kernel_size={kernel}, "
                f"dilation={dilation}, padding={padding}, the number of sliding blocks must be at "
                "least one"
            )
        found.append(np.arange(k)[:, None] * d + np.arange(blocks) * s)
    return found
