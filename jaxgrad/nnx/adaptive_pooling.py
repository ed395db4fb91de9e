"""Pooling layers that divide the input into a given number of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer


OutputSize = int | None | Sequence[int | None]


class _AdaptiveAvgPool(Layer):
    """Base class of adaptive average pooling."""

    _fun: Callable[..., Array]

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def __call__(self, input: Array) -> Array:
        return self._fun(input, self.output_size)


class _AdaptiveMaxPool(Layer):
    """Base class of adaptive max pooling."""

    _fun: Callable[..., Any]

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def __call__(self, input: Array) -> Any:
        return self._fun(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """The mean of windows that divide `(N, C, L)` evenly.

    Args:
        output_size: Number of windows along each spatial dim; None keeps the size of a dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveAvgPool1d(2)(jnp.ones((1, 1, 4), "float32")).shape)
        (1, 1, 2)

    Torch: `torch.nn.AdaptiveAvgPool1d`.
    """

    _fun = staticmethod(functional.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """The mean of windows that divide `(N, C, H, W)` evenly; see `AdaptiveAvgPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveAvgPool2d(2)(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.AdaptiveAvgPool2d`.
    """

    _fun = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """The mean of windows that divide `(N, C, D, H, W)` evenly; see `AdaptiveAvgPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveAvgPool3d(2)(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.AdaptiveAvgPool3d`.
    """

    _fun = staticmethod(functional.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """The maximum of windows that divide `(N, C, L)` evenly.

    Args:
        output_size: Number of windows along each spatial dim; None keeps the size of a dim.
        return_indices: Whether to return the indices of the maxima too.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveMaxPool1d(2)(jnp.ones((1, 1, 4), "float32")).shape)
        (1, 1, 2)

    Torch: `torch.nn.AdaptiveMaxPool1d`.
    """

    _fun = staticmethod(functional.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """The maximum of windows that divide `(N, C, H, W)` evenly; see `AdaptiveMaxPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveMaxPool2d(2)(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.AdaptiveMaxPool2d`.
    """

    _fun = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """The maximum of windows that divide `(N, C, D, H, W)` evenly; see `AdaptiveMaxPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AdaptiveMaxPool3d(2)(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.AdaptiveMaxPool3d`.
    """

    _fun = staticmethod(functional.adaptive_max_pool3d)
