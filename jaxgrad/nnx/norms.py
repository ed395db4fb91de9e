"""Normalisation layers, with torch's update of running statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.init import ones, zeros
from jaxgrad.nnx.module import Array, Dtype, Layer, sizes, value


class LayerNorm(Layer):
    """Layer normalisation with a trainable weight and bias.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in LayerNorm(3)(jnp.float32([1.0, 2.0, 3.0]))])
        ['-1.2247', '0.0000', '1.2247']

    Torch: `torch.nn.LayerNorm`.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-05,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        shape = sizes(normalized_shape, 1)
        self.normalized_shape, self.eps = shape, eps
        _affine(self, shape, elementwise_affine, bias, dtype)

    def __call__(self, input: Array) -> Array:
        weight, bias = value(self.weight), value(self.bias)
        return functional.layer_norm(input, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(Layer):
    """RMS normalisation with a trainable weight; `eps` defaults to the machine epsilon.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in RMSNorm(2)(jnp.float32([3.0, 4.0]))])
        ['0.8485', '1.1314']

    Torch: `torch.nn.RMSNorm`.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        shape = sizes(normalized_shape, 1)
        self.normalized_shape, self.eps = shape, eps
        if elementwise_affine:
            self.parameter("weight", ones(), None, shape, dtype)
        else:
            self.absent("weight")

    def __call__(self, input: Array) -> Array:
        return functional.rms_norm(input, self.normalized_shape, value(self.weight), self.eps)


class GroupNorm(Layer):
    """Group normalisation with a trainable weight and bias for each channel.

    Raises:
        ValueError: `num_channels` is not divisible by `num_groups`.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in GroupNorm(1, 2)(jnp.float32([[1.0, 3.0]]))[0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.GroupNorm`.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-05,
        affine: bool = True,
        dtype: Dtype = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        if num_groups == 0:
            raise ZeroDivisionError("GroupNorm(): num_groups must not be 0")
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        _affine(self, (num_channels,), affine, bias, dtype)

    def __call__(self, input: Array) -> Array:
        weight, bias = value(self.weight), value(self.bias)
        return functional.group_norm(input, self.num_groups, weight, bias, self.eps)


class _Running(Layer):
    """Base class of norms that track running statistics of channels."""

    ndims: tuple[int, ...] = ()  # allowed numbers of dims of the input
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        dtype: Dtype,
        bias: bool,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        _affine(self, (num_features,), affine, bias, dtype)
        self.track_running_stats = track_running_stats
        if track_running_stats:
            self.buffer("running_mean", jnp.zeros(num_features, dtype or jnp.float32))
            self.buffer("running_var", jnp.ones(num_features, dtype or jnp.float32))
            self.buffer("num_batches_tracked", jnp.zeros((), jnp.int32))
        else:
            self.absent("running_mean", "running_var", "num_batches_tracked")

    def check(self, input: Array) -> None:
        if input.ndim not in self.ndims:
            wanted = " or ".join(f"{n}D" for n in self.ndims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")


class _BatchNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: Dtype = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def __call__(self, input: Array) -> Array:
        self.check(input)
        tracked = self.track_running_stats
        updates = self.training and tracked
        count: Any = value(self.num_batches_tracked) + 1 if updates else 0
        factor: Any = self.momentum
        if factor is None:  # torch then averages over all batches
            factor = 1.0 / count.astype(value(self.running_mean).dtype) if updates else 0.0
        means, variances = value(self.running_mean), value(self.running_var)
        weight, bias, use_batch = value(self.weight), value(self.bias), self.training or not tracked
        result = functional.batch_norm(
            input, means, variances, weight, bias, use_batch, factor, self.eps
        )
        if updates:  # after all checks, so that a failed call changes nothing
            self.num_batches_tracked[...] = count
            self.running_mean[...], self.running_var[...] = result[1:]
        return result.output


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of `(N, C)` or `(N, C, L)`.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Weight of the batch in the running statistics; None averages all batches.
        affine: Whether the layer has a trainable weight and bias.
        track_running_stats: Whether to track running statistics; if not, `eval` uses those of the
            batch.
        dtype: Dtype of the parameters; None means float32.
        bias: Whether the layer has a bias, if `affine`.
        rngs: Unused.

    Raises:
        ValueError: A channel has only one value in training, or the number of dims does not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> norm = BatchNorm1d(1)
        >>> _ = norm(jnp.float32([[1.0], [3.0]]))
        >>> print(f"{norm.running_mean[0]:.2f} {norm.running_var[0]:.2f}")
        0.20 1.10

    Torch: `torch.nn.BatchNorm1d`.

    Differs from flax in:
        1. `momentum` is the weight of the batch (flax: of the old statistics), the running variance
           is unbiased, and a single value per channel is an error.
    """

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of `(N, C, H, W)`; the arguments are those of `BatchNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(BatchNorm2d(3)(jnp.ones((2, 3, 4, 4), "float32")).shape)
        (2, 3, 4, 4)

    Torch: `torch.nn.BatchNorm2d`.
    """

    ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of `(N, C, D, H, W)`; the arguments are those of `BatchNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(BatchNorm3d(3)(jnp.ones((2, 3, 4, 4, 4), "float32")).shape)
        (2, 3, 4, 4, 4)

    Torch: `torch.nn.BatchNorm3d`.
    """

    ndims = (5,)


class _InstanceNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        dtype: Dtype = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def __call__(self, input: Array) -> Array:
        self.check(input)
        channel = 0 if input.ndim == self.ndims[0] else 1
        weight = value(self.weight)
        if weight is not None and input.shape[channel] != self.num_features:
            raise ValueError(
                f"expected input's size at dim={channel} to match num_features"
                f" ({self.num_features}), but got: {input.shape[channel]}."
            )
        batch = input[None] if channel == 0 else input
        means, variances = value(self.running_mean), value(self.running_var)
        use_input, momentum = self.training or not self.track_running_stats, self.momentum or 0.0
        result = functional.instance_norm(
            batch, means, variances, weight, value(self.bias), use_input, momentum, self.eps
        )
        if isinstance(result, tuple):
            if self.training:
                self.running_mean[...], self.running_var[...] = result[1:]
            result = result[0]
        return result[0] if channel == 0 else result


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of `(N, C, L)` or `(C, L)`, separately per example and channel.

    Args:
        num_features: Number of channels C.
        eps: Added to the variance for numerical stability.
        momentum: Weight of the input in the running statistics; None means 0, as in torch.
        affine: Whether the layer has a trainable weight and bias; False by default.
        track_running_stats: Whether to track running statistics and use them in `eval`.
        dtype: Dtype of the parameters; None means float32.
        bias: Whether the layer has a bias, if `affine`.
        rngs: Unused.

    Raises:
        ValueError: A channel has only one value, or the dims or channels of the input do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in InstanceNorm1d(1)(jnp.array([[[1.0, 3.0]]]))[0, 0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.InstanceNorm1d`.
    """

    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of `(N, C, H, W)` or `(C, H, W)`; see `InstanceNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(InstanceNorm2d(3)(jnp.ones((2, 3, 4, 4), "float32")).shape)
        (2, 3, 4, 4)

    Torch: `torch.nn.InstanceNorm2d`.
    """

    ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of `(N, C, D, H, W)` or `(C, D, H, W)`; see `InstanceNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(InstanceNorm3d(3)(jnp.ones((2, 3, 4, 4, 4), "float32")).shape)
        (2, 3, 4, 4, 4)

    Torch: `torch.nn.InstanceNorm3d`.
    """

    ndims = (4, 5)


def _affine(layer: Layer, shape: tuple[int, ...], affine: bool, bias: bool, dtype: Dtype) -> None:
    """Add a weight of ones and a bias of zeros, or None if they are switched off."""
    for name, init, wanted in (("weight", ones(), affine), ("bias", zeros(), affine and bias)):
        if wanted:
            layer.parameter(name, init, None, shape, dtype)
        else:
            layer.absent(name)
