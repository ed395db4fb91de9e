"""Convolutions, with torch's layouts, paddings and output sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional._core.windows import Sizes, at_least, batched, sizes


MAX_TAPS = 27  # most kernel elements for which unrolling a depthwise convolution pays off
AT_ONCE = 8  # groups that one turn of a loop convolves; with more, compiling takes longer


def conv1d(
    input: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Sizes = 1,
    padding: Sizes | str = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Array:
    """Cross-correlate signals with kernels.

    Args:
        input: `(N, in, L)` or `(in, L)`.
        weight: `(out, in / groups, K)`.
        bias: `(out,)`.
        stride: Step of the kernel along the input.
        padding: Number of zeros to add on both sides, "valid" (none) or "same".
        dilation: Spacing between kernel elements.
        groups: Number of groups that the channels are split into and convolved separately.

    Raises:
        RuntimeError: The shapes are incompatible, the dtypes differ, or an option is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv1d(jnp.array([[1.0, 2.0, 3.0]]), jnp.array([[[1.0, 10.0]]])))
        [[21. 32.]]

    Torch: `torch.nn.functional.conv1d`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Even with strides `padding` is the same on both sides (flax's "SAME": more at the end).
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
    """Cross-correlate images `(N, in, H, W)` with `(out, in / groups, KH, KW)`; see `conv1d`.

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
    """Cross-correlate volumes `(N, in, D, H, W)` with `(out, in / groups, K, K, K)`; see `conv1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(conv3d(jnp.ones((1, 2, 2, 2)), jnp.ones((1, 1, 2, 2, 2))).ravel())
        [8.]

    Torch: `torch.nn.functional.conv3d`.
    """
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _conv(
    rank: int,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sizes,
    padding: Sizes | str,
    dilation: Sizes,
    groups: int,
) -> Array:
    name = f"conv{rank}d"
    reject(name, "bool", input, weight, bias)
    x, had_batch = batched(array(input), rank, name)
    w = array(weight, "weight")
    strides = at_least(1, "stride", name, sizes(stride, rank, "stride"))
    dilations = at_least(1, "dilation", name, sizes(dilation, rank, "dilation"))
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
    extents = [d * (k - 1) for d, k in zip(dilations, w.shape[2:], strict=True)]
    pads = _paddings(name, padding, extents, strides)
    for size, (low, high), extent in zip(x.shape[2:], pads, extents, strict=True):
        if size + low + high <= extent:
            raise RuntimeError(
                f"Calculated padded input size per channel: ({size + low + high}). Kernel size: "
                f"({extent + 1}). Kernel size can't be greater than actual input size"
            )

    def convolve(x: Array, w: Array, *rest: Array) -> Array:
        conv_pads, separately = pads, _is_depthwise(x, w, groups)
        if (x.dtype == jnp.float64 or separately) and any(map(any, pads)):
            ends = [(0, 0, 0), (0, 0, 0), *((low, high, 0) for low, high in pads)]
            x = jax.lax.pad(x, jnp.zeros((), x.dtype), ends)
            if x.dtype == jnp.float64:
                # In torch a padding zero times an infinite weight is NaN. In float64 XLA skips the
                # zeros unless a barrier separates them from the convolution.
                x = jax.lax.optimization_barrier(x)
            conv_pads = [(0, 0)] * rank
        if separately:
            y = _depthwise(x, w, strides, dilations)
        else:
            y = _grouped(x, w, groups, strides, conv_pads, rhs_dilation=dilations)
        return y + rest[0].reshape(-1, *[1] * rank) if rest else y

    return _run(convolve, x, w, bias, had_batch)


def _is_depthwise(x: Array, w: Array, groups: int) -> bool:
    """Return whether each channel is convolved separately, as a sum of shifts.

    In float64 XLA would run this densely, so that 0 * inf in one group affects others. In float32
    its convolution on a CPU takes 3 to 200 times as long as the sum.
    """
    small = math.prod(w.shape[2:]) <= MAX_TAPS
    return (x.dtype == jnp.float64 or _is_slow(x)) and x.shape[1] == groups > 1 and small


def _is_slow(x: Array) -> bool:  # for XLA's convolution of groups
    return x.dtype == jnp.float32 and jax.default_backend() == "cpu"


def _grouped(x: Array, w: Array, groups: int, *window: Any, **dilations: Any) -> Array:
    """Convolve groups of channels; in float32 on a CPU, one after another.

    XLA's convolution of groups takes up to 50 times as long there.
    """
    if groups in (1, x.shape[1]) or not _is_slow(x):
        return jax.lax.conv_general_dilated(x, w, *window, **dilations, feature_group_count=groups)

    def turn(_: None, group: tuple[Array, Array]) -> tuple[None, Array]:
        return None, jax.lax.conv_general_dilated(*group, *window, **dilations)

    inner, outer = x.shape[1] // groups, w.shape[0] // groups
    xs = jnp.swapaxes(x.reshape(x.shape[0], groups, inner, *x.shape[2:]), 0, 1)
    ws = w.reshape(groups, outer, *w.shape[1:])
    _, ys = jax.lax.scan(turn, None, (xs, ws), unroll=min(groups, AT_ONCE))
    return jnp.swapaxes(ys, 0, 1).reshape(x.shape[0], w.shape[0], *ys.shape[3:])


def _depthwise(x: Array, w: Array, strides: tuple[int, ...], dilations: tuple[int, ...]) -> Array:
    """Convolve each channel separately, as a sum of one product per kernel element."""
    sizes = zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)
    spans = [(n - d * (k - 1) - 1) // s * s for n, k, s, d in sizes]
    y = jnp.zeros((), x.dtype)
    for tap in np.ndindex(w.shape[2:]):
        starts = [d * k for d, k in zip(dilations, tap, strict=True)]
        ranges = zip(starts, spans, strides, strict=True)
        window = x[:, :, None, *(slice(at, at + span + 1, s) for at, span, s in ranges)]
        y = y + window * _tap(w, tap, x.shape[1])
    return y.reshape(x.shape[0], -1, *y.shape[3:])


def _tap(w: Array, tap: tuple[int, ...], groups: int) -> Array:
    return w[:, :, *tap].reshape(groups, -1, *[1] * len(tap))


def _run(
    fun: Callable[..., Array], x: Array, w: Array, bias: Array | None, had_batch: bool
) -> Array:
    args = (x, w) if bias is None else (x, w, bias)
    y = in_opmath(fun, *args) if is_floating(x) else fun(*args)
    return y if had_batch else y[0]


def _check_weight(name: str, x: Array, w: Array, bias: Array | None, groups: int) -> None:
    if groups < 1:
        raise RuntimeError(f"non-positive groups is not supported, groups={groups}")
    if w.ndim != x.ndim:
        raise RuntimeError(
            f"{name}: weight should have {x.ndim} dimensions, but its shape is {list(w.shape)}"
        )
    require_same_dtype(name, input=x, weight=w, bias=bias)


def _check_bias(w: Array, bias: Array | None, channels: int) -> None:
    if bias is not None and bias.shape != (channels,):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
            f"{channels} elements, but got bias of size {list(bias.shape)} instead"
        )


def _paddings(
    name: str, padding: Sizes | str, extents: list[int], strides: tuple[int, ...]
) -> list[tuple[int, int]]:
    if padding == "valid":
        return [(0, 0)] * len(extents)
    if padding == "same":
        if max(strides) > 1:
            raise RuntimeError(
                f"padding='same' is not supported for strided convolutions, stride={strides}"
            )
        return [(extent // 2, extent - extent // 2) for extent in extents]
    if isinstance(padding, str):
        raise RuntimeError(f"Invalid padding string: '{padding}'; use 'same' or 'valid'")
    pads = sizes(padding, len(extents), "padding")
    if min(pads) < 0:
        raise RuntimeError(f"{name}: negative padding is not supported, padding={pads}")
    return [(p, p) for p in pads]
