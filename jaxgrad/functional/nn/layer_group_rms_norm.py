"""Normalization within a sample: layer, RMS, group and local response norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import DEFAULT, HALF, array, in_opmath
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.nn import _statistics as stats


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Normalize to zero mean and unit variance over the last dims.

    Args:
        input: `(*, *normalized_shape)`.
        normalized_shape: Shape of the trailing dims to normalize over.
        weight: Has shape `normalized_shape`.
        bias: Has shape `normalized_shape`.
        eps: Added to the variance.

    Raises:
        RuntimeError: The shapes do not end in `normalized_shape`, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in layer_norm(jnp.array([1.0, 2.0, 3.0]), (3,))])
        ['-1.2247', '0.0000', '1.2247']

    Torch: `torch.nn.functional.layer_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6), and the variance is computed from centered values: flax's
           `use_fast_variance=True` loses precision if the mean is large.
    """
    reject("layer_norm", "complex", input, weight, bias)
    input, normalized_shape = array(input), tuple(normalized_shape)
    dims = _normalized_dims(input, normalized_shape)
    for name, x in (("weight", weight), ("bias", bias)):
        if x is not None and x.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(x.shape)} and normalized_shape = {list(normalized_shape)}"
            )
    stats.check_dtypes("layer_norm", input, weight, bias)

    def normalize(x: Array, w: Array, b: Array) -> Array:
        return stats.standardize(x, dims, eps) * w + b

    return stats.apply_affine(normalize, input, weight, bias)


def rms_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    eps: float | None = None,
) -> Array:
    """Scale to unit root mean square over the last dims.

    Args:
        input: `(*, *normalized_shape)`.
        normalized_shape: Shape of the trailing dims to take the mean over.
        weight: Has shape `normalized_shape`.
        eps: Added to the mean square. None: the machine epsilon of the input's dtype, or that of
            float32 for float16 and bfloat16.

    Raises:
        RuntimeError: The input's shape does not end in `normalized_shape`, or the weight's differs.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in rms_norm(jnp.array([3.0, 4.0]), (2,))])
        ['0.8485', '1.1314']

    Torch: `torch.nn.functional.rms_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. eps is the machine epsilon (flax: 1e-6): for a float64 input of zeros the gradient is
           6.7e7 (flax: 1e3).
    """
    input, normalized_shape = array(input), tuple(normalized_shape)
    dims = _normalized_dims(input, normalized_shape)
    if weight is not None and weight.shape != normalized_shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {list(normalized_shape)}"
        )
    stats.check_dtypes("rms_norm", input)
    if eps is None:
        eps = float(jnp.finfo(DEFAULT if input.dtype in HALF else input.dtype).eps)

    def normalize(x: Array, w: Array, _: Array) -> Array:
        return x * jax.lax.rsqrt(jnp.mean(x * x, dims, keepdims=True) + eps) * w

    return stats.apply_affine(normalize, input, weight)


def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Normalize each group of channels of each example to zero mean and unit variance.

    Args:
        input: `(N, C, ...)`.
        num_groups: Number of groups to divide the channels into.
        weight: `(C,)`.
        bias: `(C,)`.
        eps: Added to the variance.

    Raises:
        RuntimeError: `num_groups` does not divide C, or a parameter does not have shape `(C,)`.
        ValueError: A group has only one value.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in group_norm(jnp.array([[1.0, 3.0]]), 1)[0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.functional.group_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6).
    """
    reject("group_norm", "complex", input, weight, bias)
    input = array(input)
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    count, channels, *spatial = input.shape
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    if count * channels // num_groups * math.prod(spatial) == 1:
        stats.reject_single_value((count * channels // num_groups, num_groups, *spatial))
    stats.check_channels(input, weight=weight, bias=bias)
    stats.check_dtypes("group_norm", input, weight, bias)

    def normalize(x: Array, w: Array, b: Array) -> Array:
        groups = x.reshape(count, num_groups, channels // num_groups, *spatial)
        y = stats.standardize(groups, tuple(range(2, groups.ndim)), eps).reshape(x.shape)
        return y * stats.per_channel(w, x) + stats.per_channel(b, x)

    return stats.apply_affine(normalize, input, weight, bias)


def local_response_norm(
    input: Array, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Array:
    """Divide each value by a power of the mean square over neighboring channels.

    Args:
        input: `(N, C, ...)`, with at least three dims.
        size: Number of channels to average over; missing ones count as zeros.
        alpha: Factor of the mean square.
        beta: Exponent.
        k: Added to the weighted mean square.

    Raises:
        ValueError: The input has fewer than three dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{local_response_norm(jnp.ones((1, 1, 1)), 1, alpha=1.0, beta=1.0)[0, 0, 0]}")
        0.5

    Torch: `torch.nn.functional.local_response_norm`.
    """
    reject("local_response_norm", "bool complex", input)
    input = array(input)
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )

    def normalize(x: Array) -> Array:
        around = [(0, 0)] * x.ndim
        around[1] = (size // 2, (size - 1) // 2)
        squares = jnp.pad(x * x, around)
        total = sum(
            jax.lax.slice_in_dim(squares, i, i + x.shape[1], axis=1) for i in range(1, size)
        )
        mean = (jax.lax.slice_in_dim(squares, 0, x.shape[1], axis=1) + total) / size
        return x / (mean * alpha + k) ** beta

    return in_opmath(normalize, input)


def _normalized_dims(input: Array, normalized_shape: tuple[int, ...]) -> tuple[int, ...]:
    if not normalized_shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    count = len(normalized_shape)
    if input.shape[max(input.ndim - count, 0) :] != normalized_shape:
        expected = ", ".join(["*", *map(str, normalized_shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[{expected}], but got input of size{list(input.shape)}"
        )
    return tuple(range(input.ndim - count, input.ndim))
