"""Pooling layers with windows of a fixed size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes


class _Pool(Layer):
    """Base class of pooling; the stride is the size of the window by default."""

    _fun: Callable[..., Any]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None, ceil_mode: bool) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.ceil_mode = ceil_mode


class _MaxPool(_Pool):
    """Base class of max pooling."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, ceil_mode)
        self.padding, self.dilation, self.return_indices = padding, dilation, return_indices

    def __call__(self, input: Array) -> Any:
        windows = (self.kernel_size, self.stride, self.padding, self.dilation)
        return self._fun(input, *windows, self.ceil_mode, self.return_indices)


class _AvgPool(_Pool):
    """Base class of average pooling."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__(kernel_size, stride, ceil_mode)
        self.padding, self.count_include_pad = padding, count_include_pad

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return self._fun(input, *windows, self.count_include_pad)


class _DividedAvgPool(_AvgPool):
    """Base class of average pooling with a divisor."""

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def __call__(self, input: Array) -> Array:
        windows = (self.kernel_size, self.stride, self.padding, self.ceil_mode)
        return self._fun(input, *windows, self.count_include_pad, self.divisor_override)


class _LPPool(_Pool):
    """Base class of power-average pooling."""

    def __init__(
        self,
        norm_type: float,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__(kernel_size, stride, ceil_mode)
        self.norm_type = norm_type

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


class AvgPool1d(_AvgPool):
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

    _fun = staticmethod(functional.avg_pool1d)


class AvgPool2d(_DividedAvgPool):
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


class AvgPool3d(_DividedAvgPool):
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
