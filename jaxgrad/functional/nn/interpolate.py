"""Resizing images with torch's pixel centers, kernels and borders."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.adaptive_bins import adaptive_average
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.dtypes import reject


# Up to this number the terms of a sum are added one by one. On a CPU, XLA takes 10 to 20 times as
# long for a sum over an axis.
ADDED = 16
_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3, "lanczos": 2}


def interpolate(
    input: Array,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Array:
    """Resize signals, images or volumes.

    Args:
        input: `(N, C, L)`, `(N, C, H, W)` or `(N, C, D, H, W)`.
        size: Output size of the spatial dims.
        scale_factor: Alternative to `size`; positions then follow the factor, not the size ratio.
        mode: "nearest" (rounds positions down), "nearest-exact", "linear", "bilinear", "bicubic",
            "trilinear" or "area".
        align_corners: Whether to align the centers of the corner elements, not their edges.
        recompute_scale_factor: Whether positions follow the size ratio despite `scale_factor`.
        antialias: Whether to widen the kernel of "bilinear" and "bicubic" when downsampling.

    Raises:
        ValueError: The options contradict each other.
        NotImplementedError: The mode does not exist for inputs with this number of dims.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[[0.0, 1.0, 2.0, 3.0]]])
        >>> print(interpolate(x, 2)[0, 0], interpolate(x, 2, mode="linear")[0, 0])
        [0. 2.] [0.5 2.5]

    Torch: `torch.nn.functional.interpolate`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Antialiasing is off by default (`jax.image.resize`: on).
        2. "nearest" takes `floor(i * scale)` (`jax.image.resize`: the nearest center, which is
           "nearest-exact").
        3. The cubic kernel has a = -0.75 (`jax.image.resize`: -0.5).
        4. `align_corners` and `scale_factor` exist (`jax.image.resize`: neither).

    With a fractional factor that leaves a size as it is or doubles it ("nearest" in 1-d and 3-d) or
    leaves all sizes as they are ("bicubic"), torch's gradient is not the derivative of its output;
    torch also repeats the first row of a one-column antialiased output. Both are correct here.
    """
    reject("interpolate", "bool integer complex", input)
    input = array(input)
    rank = input.ndim - 2
    out, scales = _out_size(input, rank, size, scale_factor, mode, recompute_scale_factor)
    exact = mode in ("nearest", "nearest-exact", "area")
    if exact and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear "
            "| bicubic | trilinear"
        )
    if antialias and (mode not in ("bilinear", "bicubic") or input.ndim != 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D "
            f"tensor as input, not {mode} with {input.ndim} dims"
        )
    if rank not in (1, 2, 3) or not (exact or mode in _RANKS):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the "
            "modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact "
            f"(got {mode})"
        )
    if not exact and _RANKS[mode] != rank:
        raise NotImplementedError(
            f"Got {input.ndim}D input, but {mode} mode needs {_RANKS[mode] + 2}D input"
        )
    if mode == "area":
        return adaptive_average(rank, input, out)
    if min(*out, *input.shape[2:]) < 1:
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} and output {list(out)}"
        )
    real = np.float64 if input.dtype == np.float64 else np.float32
    kernel = _kernel(mode, bool(align_corners), antialias, real)
    dims = list(zip(input.shape[2:], out, scales, strict=True))
    if mode == "nearest" and rank == 2:
        dims = [(n, o, None if o in (n, 2 * n) else s) for n, o, s in dims]
    taps = [kernel(*dim) for dim in dims]

    def resampled(x: Array) -> Array:
        for axis, (index, weights) in enumerate(taps, start=2):
            x = _weighted(x, axis, index, weights)
        return x

    return resampled(input) if exact else in_opmath(resampled, input)


def _weighted(x: Array, axis: int, index: np.ndarray, weights: np.ndarray | None) -> Array:
    """Return sums of elements along an axis, times weights."""
    if weights is None:
        return jnp.take(x, index, axis, fill_value=0)
    factors = jnp.asarray(weights, x.dtype).reshape(*weights.shape, *[1] * (x.ndim - axis - 1))
    if index.shape[1] > ADDED:
        return (jnp.take(x, index, axis, fill_value=0) * factors).sum(axis + 1)
    taps = range(index.shape[1])
    products = [jnp.take(x, index[:, k], axis, fill_value=0) * factors[:, k] for k in taps]
    return functools.reduce(operator.add, products)


def upsample(
    input: Array,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Array:
    """Resize signals, images or volumes: the old name of `interpolate`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(upsample(jnp.array([[[1.0, 2.0]]]), scale_factor=2))
        [[[1. 1. 2. 2.]]]

    Torch: `torch.nn.functional.upsample`.
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def _out_size(
    input: Array,
    rank: int,
    size: int | Sequence[int] | None,
    scale_factor: float | Sequence[float] | None,
    mode: str,
    recompute: bool | None,
) -> tuple[tuple[int, ...], list[float | None]]:
    """Return the output size and, per dim, the factor that scales positions (None: size ratio)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    option = size if size is not None else scale_factor
    values: list[Any] = [option] * rank if isinstance(option, int | float) else list(option or ())
    if len(values) != rank:
        raise ValueError(
            "Input and output must have the same number of spatial dimensions, but got input with "
            f"spatial dimensions of {list(input.shape[2:])} and size or scale_factor {values}"
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple(operator.index(n) for n in values), [None] * rank
    out = tuple(math.floor(n * s) for n, s in zip(input.shape[2:], values, strict=True))
    return out, [None] * rank if recompute or mode == "area" else values


def _kernel(
    mode: str, align: bool, antialias: bool, real: type
) -> Callable[[int, int, float | None], tuple[np.ndarray, np.ndarray | None]]:
    """Return a function from (input size, output size, factor) to indices and their weights.

    Both have shape `(output, taps)`, but "nearest" has no weights and `(output,)` indices. An
    index equal to the input size stands for a zero.
    """

    def ratio(n: int, out: int, factor: float | None, real: type = real) -> np.floating:
        if align:
            return real(n - 1) / real(out - 1) if out > 1 else real(0)
        return real(1 / factor) if factor else real(n) / real(out)

    def nearest(n: int, out: int, factor: float | None) -> tuple[np.ndarray, None]:
        shift = np.float32(0.5 if mode == "nearest-exact" else 0)
        at = (np.arange(out, dtype=np.float32) + shift) * ratio(n, out, factor, np.float32)
        return np.minimum(at.astype(np.int64), n - 1), None

    def source(n: int, out: int, factor: float | None) -> np.ndarray:
        scale, at = ratio(n, out, factor), np.arange(out, dtype=real)
        return at * scale if align else scale * (at + real(0.5)) - real(0.5)

    def linear(n: int, out: int, factor: float | None) -> tuple[np.ndarray, np.ndarray]:
        if n == out:
            return np.stack([np.arange(n)] * 2, 1), np.stack([np.ones(n), np.zeros(n)], 1)
        at = np.maximum(source(n, out, factor), real(0))
        low = np.minimum(at.astype(np.int64), n - 1)
        high = np.minimum(low + 1, n - 1)
        fraction = np.clip(at - low, 0, 1)
        return np.stack([low, high], 1), np.stack([1 - fraction, fraction], 1)

    def cubic(n: int, out: int, factor: float | None) -> tuple[np.ndarray, np.ndarray]:
        at = source(n, out, factor)
        low = np.floor(at).astype(np.int64)
        index = low[:, None] + np.arange(-1, 3)
        weights = _cubic(np.abs(at[:, None] - index), -0.75)
        return np.clip(index, 0, n - 1), weights

    def smooth(n: int, out: int, factor: float | None) -> tuple[np.ndarray, np.ndarray]:
        scale = ratio(n, out, factor)
        wide, taps = max(scale, 1), 2 if mode == "bilinear" else 4
        center = scale * (np.arange(out, dtype=real) + real(0.5))
        reach = taps / 2 * wide
        begin = np.maximum((center - reach + 0.5).astype(np.int64), 0)
        end = np.minimum((center + reach + 0.5).astype(np.int64), n)
        index = begin[:, None] + np.arange(max(end - begin))
        distance = np.abs((index - center[:, None] + 0.5) / wide)
        weights = np.maximum(1 - distance, 0) if mode == "bilinear" else _cubic(distance, -0.5)
        inside = index < end[:, None]
        weights = np.where(inside, weights, 0)
        return np.where(inside, index, n), weights / weights.sum(1, keepdims=True)

    if antialias:
        return smooth
    if mode.startswith("nearest"):
        return nearest
    return cubic if mode == "bicubic" else linear


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Evaluate Keys' cubic convolution kernel at distances `x`."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))
