"""Normalisation layers, with running statistics as torch moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, value


class LayerNorm(Layer):
    """`functional.layer_norm` with a weight and a bias.

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
        dtype: Any = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.normalized_shape, self.eps = shape, eps
        _affine(self, shape, elementwise_affine, bias, dtype)

    def __call__(self, input: Array) -> Array:
        weight, bias = value(self.weight), value(self.bias)
        return functional.layer_norm(input, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(Layer):
    """`functional.rms_norm` with a weight; eps is the machine epsilon unless one is given.

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
        dtype: Any = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
        shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.normalized_shape, self.eps = shape, eps
        if elementwise_affine:
            self.parameter("weight", _ones, None, shape, dtype)
        else:
            self.absent("weight")

    def __call__(self, input: Array) -> Array:
        return functional.rms_norm(input, self.normalized_shape, value(self.weight), self.eps)


class GroupNorm(Layer):
    """`functional.group_norm` with a weight and a bias for each channel.

    Raises:
        ValueError: The channels do not divide into the groups.

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
        dtype: Any = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__()
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
    """Running statistics of channels."""

    ndims: tuple[int, ...] = ()  # that an input may have
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
        dtype: Any,
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
        dtype: Any = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def __call__(self, input: Array) -> Array:
        self.check(input)
        tracked = self.track_running_stats
        moves = self.training and tracked
        count: Any = value(self.num_batches_tracked) + 1 if moves else 0
        factor: Any = self.momentum
        if factor is None:  # the mean over all batches
            factor = 1.0 / count.astype(value(self.running_mean).dtype) if moves else 0.0
        found = functional.batch_norm(
            input,
            value(self.running_mean),
            value(self.running_var),
            value(self.weight),
            value(self.bias),
            self.training or not tracked,
            factor,
            self.eps,
        )
        if moves:  # after what may raise
            self.num_batches_tracked[...] = count
            self.running_mean[...], self.running_var[...] = found[1:]
        return found.output


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of `(N, C)` or `(N, C, L)`.

    Args:
        num_features: C.
        eps: Added to the variance.
        momentum: The weight of the batch in the running statistics. None: the mean of all batches.
        affine: Whether there are a weight and a bias.
        track_running_stats: Whether there are running statistics. If not, the batch's are used in
            `eval` too.
        dtype: Of the parameters; None: float32.
        bias: Whether there is a bias.
        rngs: Not used.

    Raises:
        ValueError: Training with one value a channel, or the input has other dims.

    Example:
        >>> import jax.numpy as jnp
        >>> norm = BatchNorm1d(1)
        >>> _ = norm(jnp.float32([[1.0], [3.0]]))
        >>> print(f"{norm.running_mean[0]:.2f} {norm.running_var[0]:.2f}")
        0.20 1.10

    Torch: `torch.nn.BatchNorm1d`.

    Differs from flax in:
        1. `momentum` weighs the batch (flax: what was there), the running variance is unbiased,
           and one value a channel is an error.
    """

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of `(N, C, H, W)`; arguments as those of `BatchNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(BatchNorm2d(3)(jnp.ones((2, 3, 4, 4), "float32")).shape)
        (2, 3, 4, 4)

    Torch: `torch.nn.BatchNorm2d`.
    """

    ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of `(N, C, D, H, W)`; arguments as those of `BatchNorm1d`.

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
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        dtype: Any = None,
        *,
        bias: bool = True,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        del rngs
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype, bias)

    def __call__(self, input: Array) -> Array:
        self.check(input)
        channel = 0 if input.ndim == self.ndims[0] else 1
        if value(self.weight) is not None and input.shape[channel] != self.num_features:
            raise ValueError(
                f"expected input's size at dim={channel} to match num_features"
                f" ({self.num_features}), but got: {input.shape[channel]}."
            )
        batch = input[None] if channel == 0 else input
        found = functional.instance_norm(
            batch,
            value(self.running_mean),
            value(self.running_var),
            value(self.weight),
            value(self.bias),
            self.training or not self.track_running_stats,
            self.momentum or 0.0,
            self.eps,
        )
        if isinstance(found, tuple):
            if self.training:
                self.running_mean[...], self.running_var[...] = found[1:]
            found = found[0]
        return found[0] if channel == 0 else found


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of each channel of each example of `(N, C, L)` or `(C, L)`.

    Args:
        num_features: C.
        eps: Added to the variance.
        momentum: The weight of the input in the running statistics.
        affine: Whether there are a weight and a bias; there are none unless asked for.
        track_running_stats: Whether there are running statistics, which `eval` then uses.
        dtype: Of the parameters; None: float32.
        bias: Whether there is a bias, if affine.
        rngs: Not used.

    Raises:
        ValueError: A channel has one value, or the input has other dims or channels.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.4f}" for y in InstanceNorm1d(1)(jnp.array([[[1.0, 3.0]]]))[0, 0]])
        ['-1.0000', '1.0000']

    Torch: `torch.nn.InstanceNorm1d`.
    """

    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """The same of `(N, C, H, W)` or `(C, H, W)`; arguments as those of `InstanceNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(InstanceNorm2d(3)(jnp.ones((2, 3, 4, 4), "float32")).shape)
        (2, 3, 4, 4)

    Torch: `torch.nn.InstanceNorm2d`.
    """

    ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """The same of `(N, C, D, H, W)` or `(C, D, H, W)`; arguments as those of `InstanceNorm1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(InstanceNorm3d(3)(jnp.ones((2, 3, 4, 4, 4), "float32")).shape)
        (2, 3, 4, 4, 4)

    Torch: `torch.nn.InstanceNorm3d`.
    """

    ndims = (4, 5)


def _ones(_: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return jnp.ones(shape, dtype)


def _zeros(_: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    return jnp.zeros(shape, dtype)


def _affine(layer: Layer, shape: tuple[int, ...], affine: bool, bias: bool, dtype: Any) -> None:
    """A weight of ones and a bias of zeros, or None."""
    for name, init, wanted in (("weight", _ones, affine), ("bias", _zeros, affine and bias)):
        if wanted:
            layer.parameter(name, init, None, shape, dtype)
        else:
            layer.absent(name)
