"""Fake quantization: rounded values with a straight-through gradient where nothing is clipped."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dim, require_floating
from jaxgrad.functional._core.derivative import derivative


def fake_quantize_per_tensor_affine(
    input: Array, scale: float | Array, zero_point: int | Array, quant_min: int, quant_max: int
) -> Array:
    """Round the input to the nearest of `quant_max - quant_min + 1` levels that are `scale` apart.

    Args:
        input: Array of any shape. Its gradient is the output's inside the range of levels, else 0.
        scale: Distance between neighbouring levels; it has no gradient.
        zero_point: Index of the level with the value 0.
        quant_min: Index of the lowest level.
        quant_max: Index of the highest level.

    Raises:
        RuntimeError: `quant_min` exceeds `quant_max`, an integer `zero_point` is outside them, or
            an array `scale` is differentiated.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> def rounded(x):
        ...     return fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 4).sum()
        >>> print(jax.grad(rounded)(jnp.array([-1.0, 0.6, 3.0])))
        [0. 1. 0.]

    Torch: `torch.fake_quantize_per_tensor_affine`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient passes straight through the rounding (`jnp.round`: 0).
    """
    x = require_floating(input, "fake_quantize_per_tensor_affine")
    _check_points(zero_point if isinstance(zero_point, int) else None, quant_min, quant_max)
    scale = jnp.asarray(scale, jnp.float32)
    return _quantized(x, scale, jnp.asarray(zero_point), low=quant_min, high=quant_max)


def fake_quantize_per_channel_affine(
    input: Array, scale: Array, zero_point: Array, axis: int, quant_min: int, quant_max: int
) -> Array:
    """Round each channel of the input to its own levels.

    Args:
        input: Array of any shape.
        scale: Distances between neighbouring levels, `(channels,)`; it has no gradient.
        zero_point: Indices of the levels with the value 0, `(channels,)`.
        axis: Dim of the channels, not negative.
        quant_min: Index of the lowest level.
        quant_max: Index of the highest level.

    Raises:
        RuntimeError: `axis` is negative, the shapes do not match, `quant_min` exceeds `quant_max`,
            or the scale is differentiated.
        IndexError: `axis` is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> scale, zero = jnp.array([1.0, 2.0]), jnp.zeros(2, int)
        >>> print(fake_quantize_per_channel_affine(jnp.ones(2), scale, zero, 0, 0, 4))
        [1. 0.]

    Torch: `torch.fake_quantize_per_channel_affine`.
    """
    x = require_floating(input, "fake_quantize_per_channel_affine")
    scale, zero_point = array(scale, "scale"), array(zero_point, "zero_point")
    _check_points(None, quant_min, quant_max)
    dim = canonical_dim(axis, x.ndim)
    if axis < 0:
        raise RuntimeError(
            f"`axis` must be between 0 and number of dimensions of input, not {axis}"
        )
    if scale.shape != (x.shape[dim],) or zero_point.shape != scale.shape:
        raise RuntimeError(
            f"dimensions of scale and zero-point are not consistent with input tensor: "
            f"{list(scale.shape)}, {list(zero_point.shape)} and {x.shape[dim]} channels"
        )
    shape = [-1 if i == dim else 1 for i in range(x.ndim)]
    scale, zero_point = scale.astype(jnp.float32).reshape(shape), zero_point.reshape(shape)
    # torch's per-channel kernel casts to int64, which maps out-of-range numbers to the minimum.
    overflow = jnp.abs(_points(jax.lax.stop_gradient(x), scale, zero_point)) >= 2.0**63
    return _quantized(
        jnp.where(overflow, -jnp.inf, x), scale, zero_point, low=quant_min, high=quant_max
    )


def _check_points(zero_point: int | None, low: int, high: int) -> None:
    if low > high:
        raise RuntimeError(
            f"`quant_min` should be less than or equal to `quant_max`, but they are {low} and "
            f"{high}"
        )
    if zero_point is not None and not low <= zero_point <= high:
        raise RuntimeError(
            f"`zero_point` must be between `quant_min` and `quant_max`: {zero_point} is not in "
            f"[{low}, {high}]"
        )


def _no_scale(*_: Any, **__: Any) -> Any:
    raise RuntimeError(
        "fake_quantize is not differentiable with respect to argument 'scale'; stop the gradient "
        "before it with jax.lax.stop_gradient"
    )


def _points(x: Array, scale: Array, zero: Array) -> Array:
    """Return the nearest level's unclipped index, in float32 for every dtype, as in torch."""
    return jnp.rint(x.astype(jnp.float32) * (1 / scale)) + zero.astype(jnp.float32)


def _straight_through(
    t: Array, _: Array, x: Array, scale: Array, zero: Array, *, low: int, high: int
) -> Array:
    point = jax.lax.stop_gradient(_points(x, scale, zero))
    return jnp.where((point >= low) & (point <= high), t, 0)


@derivative(_straight_through, _no_scale, None)
def _quantized(x: Array, scale: Array, zero: Array, *, low: int, high: int) -> Array:
    point = jnp.fmin(jnp.fmax(_points(x, scale, zero), low), high)
    return ((point - zero) * scale).astype(x.dtype)
