"""Pooling layers with windows of a fixed size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes


class _MaxPool(Layer):
    """Base class of max pooling."""

    _fun: Callable[..., Any]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def __call__(self, input: Array) -> Any:
        windows = (self.kernel_size, self.stride, self.padding, self.dilation)
        return self._fun(input, *windows, self.ceil_mode, self.return_indices)


class _AvgPool(Layer):
    """Base class of average pooling with a divisor."""

    _fun: Callable[..., Array]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return self._fun(input, *windows, self.count_include_pad, self.divisor_override)


class _LPPool(Layer):
    """Base class of power-average pooling."""

    _fun: Callable[..., Array]

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.stride, self.ceil_mode)
        return self._fun(input, float(self.norm_type), *windows)


class MaxPool1d(_MaxPool):
    """The maximum of each window of `(N, C, L)`.

    Args:
        kernel_size: Size of a window.
        stride: Step of the window; None means `kernel_size`.
        padding: Width of the padding on each side, at most half the window.
        dilation: Step between the elements of a window.
        return_indices: Whether to return the indices of the maxima too, for `MaxUnpool1d`.
        ceil_mode: Whether a window may reach beyond the padding at the end.

    Example:
        >>> import jax.numpy as jnp
        >>> print(MaxPool1d(2)(jnp.ones((1, 1, 4), "float32")).shape)
        (1, 1, 2)

    Torch: `torch.nn.MaxPool1d`.
    """

    _fun = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The maximum of each window of `(N, C, H, W)`; the arguments are those of `MaxPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(MaxPool2d(2)(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.MaxPool2d`.
    """

    _fun = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """The maximum of each window of `(N, C, D, H, W)`; the arguments are those of `MaxPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(MaxPool3d(2)(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.MaxPool3d`.
    """

    _fun = staticmethod(functional.max_pool3d)


class AvgPool1d(Layer):
    """The mean of each window of `(N, C, L)`.

    Args:
        kernel_size: Size of a window.
        stride: Step of the window; None means `kernel_size`.
        padding: Width of the padding on each side, at most half the window.
        ceil_mode: Whether a window may reach beyond the padding at the end.
        count_include_pad: Whether the padding counts in the mean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AvgPool1d(2)(jnp.array([[[1.0, 3.0, 5.0, 7.0]]])))
        [[[2. 6.]]]

    Torch: `torch.nn.AvgPool1d`.
    """

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad = count_include_pad

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return functional.avg_pool1d(input, *windows, self.count_include_pad)


class AvgPool2d(_AvgPool):
    """The mean of each window of `(N, C, H, W)`; the other arguments are those of `AvgPool1d`.

    Args:
        divisor_override: Divisor of the sum of a window, instead of its number of elements.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AvgPool2d(2)(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.AvgPool2d`.
    """

    _fun = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window of `(N, C, D, H, W)`; the arguments are those of `AvgPool2d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(AvgPool3d(2)(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.AvgPool3d`.
    """

    _fun = staticmethod(functional.avg_pool3d)


class LPPool1d(_LPPool):
    """The p-norm of each window of `(N, C, L)`.

    Args:
        norm_type: Exponent p of the norm.
        kernel_size: Size of a window.
        stride: Step of the window; None means `kernel_size`.
        ceil_mode: Whether a window may reach beyond the end.

    Example:
        >>> import jax.numpy as jnp
        >>> print(LPPool1d(2, 2)(jnp.ones((1, 1, 4), "float32")).shape)
        (1, 1, 2)

    Torch: `torch.nn.LPPool1d`.
    """

    _fun = staticmethod(functional.lp_pool1d)


class LPPool2d(_LPPool):
    """The p-norm of each window of `(N, C, H, W)`; the arguments are those of `LPPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(LPPool2d(2, 2)(jnp.ones((1, 1, 4, 4), "float32")).shape)
        (1, 1, 2, 2)

    Torch: `torch.nn.LPPool2d`.
    """

    _fun = staticmethod(functional.lp_pool2d)


class LPPool3d(_LPPool):
    """The p-norm of each window of `(N, C, D, H, W)`; the arguments are those of `LPPool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(LPPool3d(2, 2)(jnp.ones((1, 1, 4, 4, 4), "float32")).shape)
        (1, 1, 2, 2, 2)

    Torch: `torch.nn.LPPool3d`.
    """

    _fun = staticmethod(functional.lp_pool3d)
