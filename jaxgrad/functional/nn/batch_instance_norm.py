"""Batch and instance normalization with torch's variances and running statistics."""

from __future__ import annotations

import math
from typing import NamedTuple, overload

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import DEFAULT, HALF, array
from jaxgrad.functional._core.dtypes import reject, reject_each, require_same_dtype
from jaxgrad.functional.nn import _statistics as stats


class BatchNorm(NamedTuple):
    """The output of `batch_norm` and the updated running statistics."""

    output: Array
    running_mean: Array | None
    running_var: Array | None


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
    """Normalize each channel with the statistics of the batch or with the running statistics.

    Args:
        input: `(N, C, ...)`.
        running_mean: `(C,)`, without a gradient. None if no statistics are tracked.
        running_var: `(C,)`, without a gradient.
        weight: `(C,)`.
        bias: `(C,)`.
        training: Whether to use the batch's statistics and update the running ones.
        momentum: Weight of this batch in the running statistics.
        eps: Added to the variance.

    Returns:
        The output and the new running mean and variance, which torch instead writes in place.
        With `training=False` or an empty batch they are the ones that were passed.

    Raises:
        ValueError: In training a channel has only one value, or eps is out of range.
        RuntimeError: A parameter does not have shape `(C,)`, or a statistic is missing.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[1.0], [3.0]])
        >>> result = batch_norm(x, jnp.zeros(1), jnp.ones(1), training=True)
        >>> print(f"{result.running_mean[0]:.2f} {result.running_var[0]:.2f}")
        0.20 1.10

    Torch: `torch.nn.functional.batch_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. `momentum` is the weight of the batch (flax: of the old statistics), the running variance
           is unbiased (flax: biased), and one value per channel raises an error (flax: output
           and gradient are 0).
    """
    reject("batch_norm", "complex", input, running_mean, running_var, weight, bias)
    input = array(input)
    if input.ndim < 2:
        raise IndexError(
            f"Dimension out of range: batch_norm needs (N, C, ...), input is {list(input.shape)}"
        )
    if training:
        count = input.size // max(input.shape[1], 1)
        if count == 1:
            stats.reject_single_value(input.shape)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    elif running_mean is None or running_var is None:
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(
            f"{missing} must be defined in evaluation mode; pass it, or training=True"
        )
    stats.check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    stats.check_dtypes("batch_norm", input, weight, bias, running_mean, running_var)
    dims = tuple(d for d in range(input.ndim) if d != 1)
    if not training:
        mean, var = jax.lax.stop_gradient((running_mean, running_var))

        def scale(x: Array, w: Array, b: Array) -> Array:
            m, v = (stats.per_channel(jnp.asarray(s, x.dtype), x) for s in (mean, var))
            y = (x - m) * jax.lax.rsqrt(v + eps)
            return y * stats.per_channel(w, x) + stats.per_channel(b, x)

        return BatchNorm(stats.apply_affine(scale, input, weight, bias), mean, var)

    if not input.size:  # the mean of no values would be NaN
        running = jax.lax.stop_gradient((running_mean, running_var))
    else:
        running = _updated_statistics(input, dims, running_mean, running_var, momentum)
    return BatchNorm(stats.normalize_channels(input, dims, weight, bias, eps), *running)


@overload
def instance_norm(
    input: Array,
    running_mean: None = ...,
    running_var: None = ...,
    weight: Array | None = ...,
    bias: Array | None = ...,
    use_input_stats: bool = ...,
    momentum: float = ...,
    eps: float = ...,
) -> Array: ...
@overload
def instance_norm(
    input: Array,
    running_mean: Array,
    running_var: Array,
    weight: Array | None = ...,
    bias: Array | None = ...,
    use_input_stats: bool = ...,
    momentum: float = ...,
    eps: float = ...,
) -> BatchNorm: ...
@overload
def instance_norm(
    input: Array,
    running_mean: Array | None = ...,
    running_var: Array | None = ...,
    weight: Array | None = ...,
    bias: Array | None = ...,
    use_input_stats: bool = ...,
    momentum: float = ...,
    eps: float = ...,
) -> Array | BatchNorm: ...


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
    """Normalize each channel of each example to zero mean and unit variance.

    Args:
        input: `(N, C, ...)`.
        running_mean: `(C,)`, without a gradient.
        running_var: `(C,)`, without a gradient.
        weight: `(C,)`.
        bias: `(C,)`.
        use_input_stats: Whether to use the input's statistics; if False, the running ones.
        momentum: Weight of the input in the running statistics.
        eps: Added to the variance.

    Returns:
        The output or, with running statistics, a `BatchNorm` of the output and the new
        statistics, which torch writes in place.

    Raises:
        ValueError: A channel has only one value, or just one running statistic is passed.
        RuntimeError: A parameter does not have shape `(C,)`, `use_input_stats` is False without
            running statistics, or the dtypes differ.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in instance_norm(jnp.array([[[1.0, 3.0]]]))[0, 0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.functional.instance_norm`.

    Differs from jax in:
        1. eps is 1e-5 (flax: 1e-6).
    """
    reject("instance_norm", "complex", input, weight, bias)
    kinds = "bool integer complex"
    reject_each("instance_norm with running statistics", kinds, running_mean, running_var)
    input = array(input)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if running_mean is not None and running_mean.dtype == input.dtype:
        require_same_dtype("instance_norm", input=input, running_var=running_var)
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
        running = jax.lax.stop_gradient((running_mean, running_var))
        mean, var = (jnp.asarray(x, input.dtype) for x in running)
        return BatchNorm(batch_norm(input, mean, var, weight, bias, eps=eps).output, *running)
    stats.check_channels(
        input, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    stats.check_dtypes("instance_norm", input, weight, bias)
    dims = tuple(range(2, input.ndim))
    output = stats.normalize_channels(input, dims, weight, bias, eps)
    if running_mean is None:
        return output
    running = _updated_statistics(input, dims, running_mean, running_var, momentum)
    return BatchNorm(output, *running)


def _updated_statistics(
    input: Array, dims: tuple[int, ...], mean: Array | None, var: Array | None, momentum: float
) -> tuple[Array | None, Array | None]:
    """Return the running mean and (unbiased) variance updated with this batch."""
    x = input.astype(DEFAULT) if input.dtype in HALF else input
    x = jax.lax.stop_gradient(x)

    def updated(running: Array | None, new: Array) -> Array | None:
        if running is None:
            return None
        new = new.reshape(-1, input.shape[1]).mean(0)  # for instance_norm: average over examples
        old = jax.lax.stop_gradient(running).astype(x.dtype)
        return (momentum * new + (1 - momentum) * old).astype(running.dtype)

    return updated(mean, x.mean(dims)), updated(var, x.var(dims, ddof=1))
