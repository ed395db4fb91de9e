"""Softmax and its variants as layers."""

from __future__ import annotations

from collections.abc import Callable

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer


class _OverDim(Layer):
    """Base class of activations that normalise over one dim."""

    _fun: Callable[..., Array]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __call__(self, input: Array) -> Array:
        return self._fun(input, self.dim)


class Softmax(_OverDim):
    """Exponentials, divided by their sum over a dim.

    Args:
        dim: The dim over which to sum.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softmax(0)(jnp.array([0.0, 0.0])))
        [0.5 0.5]

    Torch: `torch.nn.Softmax`.
    """

    _fun = staticmethod(functional.softmax)


class Softmin(_OverDim):
    """Softmax of the negated elements.

    The argument is that of `Softmax`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softmin(0)(jnp.array([0.0, 0.0])))
        [0.5 0.5]

    Torch: `torch.nn.Softmin`.
    """

    _fun = staticmethod(functional.softmin)


class LogSoftmax(_OverDim):
    """The logarithm of softmax.

    The argument is that of `Softmax`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{LogSoftmax(0)(jnp.zeros(2))[0]:.4f}")
        -0.6931

    Torch: `torch.nn.LogSoftmax`.
    """

    _fun = staticmethod(functional.log_softmax)


class Softmax2d(Layer):
    """Softmax over the channels of `(N, C, H, W)` or `(C, H, W)`.

    Raises:
        ValueError: The input has another number of dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(Softmax2d()(jnp.zeros((2, 1, 1))).ravel())
        [0.5 0.5]

    Torch: `torch.nn.Softmax2d`.
    """

    def __call__(self, input: Array) -> Array:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return functional.softmax(input, -3)
