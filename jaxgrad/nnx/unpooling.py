"""Unpooling, which inverts max pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer, Sizes


class _MaxUnpool(Layer):
    """Base class of unpooling."""

    _fun: Callable[..., Array]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding = padding

    def __call__(
        self, input: Array, indices: Array, output_size: Sequence[int] | None = None
    ) -> Array:
        windows = (self.kernel_size, self.stride, self.padding)
        return self._fun(input, indices, *windows, output_size)


class MaxUnpool1d(_MaxUnpool):
    """Put the maxima of `MaxPool1d` back to their places, with zeros elsewhere.

    Args:
        kernel_size: Size of the window of the pooling.
        stride: Step of the window; None means `kernel_size`.
        padding: Width of the padding of the pooling.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxgrad.functional import max_pool1d
        >>> x = jnp.arange(4.0).reshape((1, 1, 4))
        >>> y, indices = max_pool1d(x, 2, return_indices=True)
        >>> print(MaxUnpool1d(2)(y, indices).sum() == y.sum())
        True

    Torch: `torch.nn.MaxUnpool1d`.
    """

    _fun = staticmethod(functional.max_unpool1d)


class MaxUnpool2d(_MaxUnpool):
    """Put the maxima of `MaxPool2d` back to their places, with zeros elsewhere; see `MaxUnpool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxgrad.functional import max_pool2d
        >>> x = jnp.arange(16.0).reshape((1, 1, 4, 4))
        >>> y, indices = max_pool2d(x, 2, return_indices=True)
        >>> print(MaxUnpool2d(2)(y, indices).sum() == y.sum())
        True

    Torch: `torch.nn.MaxUnpool2d`.
    """

    _fun = staticmethod(functional.max_unpool2d)


class MaxUnpool3d(_MaxUnpool):
    """Put the maxima of `MaxPool3d` back to their places, with zeros elsewhere; see `MaxUnpool1d`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxgrad.functional import max_pool3d
        >>> x = jnp.arange(64.0).reshape((1, 1, 4, 4, 4))
        >>> y, indices = max_pool3d(x, 2, return_indices=True)
        >>> print(MaxUnpool3d(2)(y, indices).sum() == y.sum())
        True

    Torch: `torch.nn.MaxUnpool3d`.
    """

    _fun = staticmethod(functional.max_unpool3d)
