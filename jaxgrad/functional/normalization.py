"""Normalisation: torch's variances, epsilons and running statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from ._arguments import DEFAULT, HALF, array, in_opmath, is_floating


Array = jax.Array


class BatchNorm(NamedTuple):
    """What `batch_norm` returns: the output, and the running statistics after this batch."""

    output: Array
    running_mean: Array | None
    running_var: Array | None


def layer_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Zero mean and unit variance over the last dims, whose shape is `normalized_shape`.

    Raises:
        RuntimeError: The input does not end in `normalized_shape`, or the weight or the bias has
            another shape or dtype.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in layer_norm(jnp.array([1.0, 2.0, 3.0]), (3,))])
        ['-1.2247', '0.0000', '1.2247']

    Torch: `torch.nn.functional.layer_norm`.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6), and the variance is that of the centred values: flax's
           `use_fast_variance=True` loses it where the mean is large.
    """
    input, normalized_shape = array(input), tuple(normalized_shape)
    dims = _normalized_dims(input, normalized_shape)
    for name, x in (("weight", weight), ("bias", bias)):
        if x is not None and x.shape != normalized_shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(x.shape)} and normalized_shape = {list(normalized_shape)}"
            )
    _check_dtypes("layer_norm", input, weight, bias)

    def normalize(x: Array, w: Array, b: Array) -> Array:
        return _standardize(x, dims, eps) * w + b

    return _affine(normalize, input, weight, bias)


def rms_norm(
    input: Array,
    normalized_shape: Sequence[int],
    weight: Array | None = None,
    eps: float | None = None,
) -> Array:
    """Unit root mean square over the last dims, whose shape is `normalized_shape`.

    Args:
        input: `(*, *normalized_shape)`.
        normalized_shape: The dims to take the mean over.
        weight: Of the shape `normalized_shape`.
        eps: Added to the mean square. None: the machine epsilon of the input's dtype, for
            float16 and bfloat16 that of float32.

    Raises:
        RuntimeError: The input does not end in `normalized_shape`, or the weight has another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in rms_norm(jnp.array([3.0, 4.0]), (2,))])
        ['0.8485', '1.1314']

    Torch: `torch.nn.functional.rms_norm`.

    Differs from jax in:
        1. eps is the machine epsilon (flax: 1e-6): at zeros the gradient of float64 is 6.7e7
           (flax: 1e3).
    """
    input, normalized_shape = array(input), tuple(normalized_shape)
    dims = _normalized_dims(input, normalized_shape)
    if weight is not None and weight.shape != normalized_shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight of shape "
            f"{list(weight.shape)} and normalized_shape = {list(normalized_shape)}"
        )
    _check_dtypes("rms_norm", input)
    if eps is None:
        eps = float(jnp.finfo(DEFAULT if input.dtype in HALF else input.dtype).eps)

    def normalize(x: Array, w: Array, _: Array) -> Array:
        return x * jax.lax.rsqrt(jnp.mean(x * x, dims, keepdims=True) + eps) * w

    return _affine(normalize, input, weight)


def group_norm(
    input: Array,
    num_groups: int,
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-05,
) -> Array:
    """Zero mean and unit variance in each group of channels of each example.

    Args:
        input: `(N, C, ...)`.
        num_groups: How many groups the channels make.
        weight: `(C,)`.
        bias: `(C,)`.
        eps: Added to the variance.

    Raises:
        RuntimeError: The channels do not divide into the groups, or there are not C weights.
        ValueError: A group has one value.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in group_norm(jnp.array([[1.0, 3.0]]), 1)[0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.functional.group_norm`.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6).
    """
    input = array(input)
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    count, channels, *places = input.shape
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    if count * channels // num_groups * math.prod(places) == 1:
        _one_value((count * channels // num_groups, num_groups, *places))
    _check_channels(input, channels, weight=weight, bias=bias)
    _check_dtypes("group_norm", input, weight, bias)

    def normalize(x: Array, w: Array, b: Array) -> Array:
        groups = x.reshape(count, num_groups, channels // num_groups, *places)
        y = _standardize(groups, tuple(range(2, groups.ndim)), eps).reshape(x.shape)
        return y * _on_channels(w, x) + _on_channels(b, x)

    return _affine(normalize, input, weight, bias)


def batch_norm(
    input: Array,
    running_mean: Array | None,
    running_var: Array | None,
    weight: Array | None = None,
    bias: Array | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> BatchNorm:
    """Zero mean and unit variance in each channel, by the batch's statistics or the running ones.

    Args:
        input: `(N, C, ...)`.
        running_mean: `(C,)`, without a gradient. None: there are none to keep.
        running_var: `(C,)`, without a gradient.
        weight: `(C,)`.
        bias: `(C,)`.
        training: Use the batch's statistics, and move the running ones.
        momentum: The weight of the batch in the running statistics.
        eps: Added to the variance.

    Returns:
        The output and the running mean and variance: torch writes the latter two in place. When
        not training, they are those that were passed.

    Raises:
        ValueError: Training with one value a channel, or with an eps that is not positive.
        RuntimeError: There are not C of something, or no running statistics outside of training.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[1.0], [3.0]])
        >>> found = batch_norm(x, jnp.zeros(1), jnp.ones(1), training=True)
        >>> print(f"{found.running_mean[0]:.2f} {found.running_var[0]:.2f}")
        0.20 1.10

    Torch: `torch.nn.functional.batch_norm`.

    Differs from jax in:
        1. `momentum` weighs the batch (flax: what was there), the running variance is unbiased
           (flax: biased), and one value a channel is an error (flax: output and gradient are 0).
    """
    input = array(input)
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range: batch_norm needs (N, C, ...), input is {list(input.shape)}"
        )
    if training:
        count = input.size // max(input.shape[1], 1)
        if count == 1:
            _one_value(input.shape)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(
            f"{missing} must be defined in evaluation mode; pass it, or training=True"
        )
    _check_channels(
        input,
        input.shape[1],
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    _check_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    dims = tuple(d for d in range(input.ndim) if d != 1)
    if not training:
        mean, var = jax.lax.stop_gradient((running_mean, running_var))

        def scale(x: Array, w: Array, b: Array) -> Array:
            wide = [_on_channels(jnp.asarray(s, x.dtype), x) for s in (mean, var)]
            y = (x - wide[0]) * jax.lax.rsqrt(wide[1] + eps)
            return y * _on_channels(w, x) + _on_channels(b, x)

        return BatchNorm(_affine(scale, input, weight, bias), mean, var)

    def normalize(x: Array, w: Array, b: Array) -> Array:
        return _standardize(x, dims, eps) * _on_channels(w, x) + _on_channels(b, x)

    moved = _moved(input, dims, running_mean, running_var, momentum)
    return BatchNorm(_affine(normalize, input, weight, bias), *moved)


def instance_norm(
    input: Array,
    running_mean: Array | None = None,
    running_var: Array | None = None,
    weight: Array | None = None,
    bias: Array | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Array | BatchNorm:
    """Zero mean and unit variance in each channel of each example.

    Args:
        input: `(N, C, ...)`.
        running_mean: `(C,)`, without a gradient.
        running_var: `(C,)`, without a gradient.
        weight: `(C,)`.
        bias: `(C,)`.
        use_input_stats: False: use the running statistics.
        momentum: The weight of the input in the running statistics.
        eps: Added to the variance.

    Returns:
        The output; with running statistics what `batch_norm` returns: the output and those two,
        which torch writes in place.

    Raises:
        ValueError: A channel has one value.
        RuntimeError: There are not C of something, or the running statistics are missing.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in instance_norm(jnp.array([[[1.0, 3.0]]]))[0, 0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.functional.instance_norm`.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6).
    """
    input = array(input)
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{list(input.shape)}"
        )
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    _check_channels(
        input,
        input.shape[1],
        running_mean=running_mean,
        running_var=running_var,
        weight=weight,
        bias=bias,
    )
    _check_dtypes("instance_norm", input, weight, bias)
    dims = tuple(range(2, input.ndim))

    def normalize(x: Array, w: Array, b: Array) -> Array:
        return _standardize(x, dims, eps) * _on_channels(w, x) + _on_channels(b, x)

    output = _affine(normalize, input, weight, bias)
    if running_mean is None and running_var is None:
        return output
    return BatchNorm(output, *_moved(input, dims, running_mean, running_var, momentum))


def local_response_norm(
    input: Array, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Array:
    """Each value over a power of the mean square of the channels around it.

    Args:
        input: `(N, C, ...)`, with at least three dims.
        size: How many channels; those outside count as zeros.
        alpha: The weight of the mean square.
        beta: The power.
        k: Added to the weighted mean square.

    Raises:
        ValueError: The input has less than three dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{local_response_norm(jnp.ones((1, 1, 1)), 1, alpha=1.0, beta=1.0)[0, 0, 0]}")
        0.5

    Torch: `torch.nn.functional.local_response_norm`.
    """
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
        wanted = ", ".join(["*", *map(str, normalized_shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape "
            f"[{wanted}], but got input of size{list(input.shape)}"
        )
    return tuple(range(input.ndim - count, input.ndim))


def _standardize(x: Array, dims: tuple[int, ...], eps: float) -> Array:
    centred = x - jnp.mean(x, dims, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(centred * centred, dims, keepdims=True) + eps)


def _moved(
    input: Array,
    dims: tuple[int, ...],
    running_mean: Array | None,
    running_var: Array | None,
    momentum: float,
) -> tuple[Array | None, Array | None]:
    """The running statistics after this batch: the variance is the unbiased one."""
    x = input.astype(DEFAULT) if input.dtype in HALF else input
    x = jax.lax.stop_gradient(x)

    def moved(running: Array | None, now: Array) -> Array | None:
        if running is None:
            return None
        now = now.reshape(-1, input.shape[1]).mean(0)  # of the examples, where each has its own
        old = jax.lax.stop_gradient(running).astype(x.dtype)
        return (momentum * now + (1 - momentum) * old).astype(running.dtype)

    return moved(running_mean, x.mean(dims)), moved(running_var, x.var(dims, ddof=1))


def _affine(fun, input: Array, *parameters: Array | None) -> Array:
    """`fun(input, weight, bias)` in the kernels' dtype, rounded to the input's."""
    weight, bias = (*parameters, None, None)[:2]
    given = [x for x in (weight, bias) if x is not None]

    def filled(x: Array, *rest: Array) -> Array:
        found = iter(rest)
        one, zero = jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        w = one if weight is None else next(found)
        return fun(x, w, zero if bias is None else next(found))

    return in_opmath(filled, input, *given).astype(input.dtype)


def _on_channels(x: Array, like: Array) -> Array:
    return x.reshape(-1, *[1] * (like.ndim - 2)) if x.ndim else x


def _one_value(shape: Sequence[int]) -> None:
    raise ValueError(
        "Expected more than 1 value per channel when training, got input size "
        f"{list(shape)}; use a larger batch"
    )


def _check_channels(input: Array, channels: int, **given: Array | None) -> None:
    for name, x in given.items():
        if x is not None and x.shape != (channels,):
            raise RuntimeError(
                f"{name} should contain {channels} elements not {x.size}: it has the shape "
                f"{list(x.shape)}, the input {list(input.shape)}"
            )


def _check_dtypes(name: str, input: Array, *given: Array | None) -> None:
    if not is_floating(input):
        raise NotImplementedError(
            f"{name} is not implemented for {input.dtype}; convert the input to a float"
        )
    for x in given:
        mixed = input.dtype in HALF and x is not None and x.dtype == DEFAULT
        if x is not None and x.dtype != input.dtype and not mixed:
            raise RuntimeError(
                f"mixed dtype: the input is {input.dtype} and a parameter {x.dtype}; only float16 "
                "and bfloat16 go with float32 parameters"
            )
