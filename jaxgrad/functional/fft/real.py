"""Fourier transforms between real signals and half of their spectrum."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.windows import Sizes
from jaxgrad.functional.fft._transforms import transform_1d, transform_nd


def rfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Discrete Fourier transform of a real signal, at non-negative frequencies only.

    The arguments and errors are those of `fft`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rfft(jnp.array([1.0, 1.0])).real)
        [2. 0.]

    Torch: `torch.fft.rfft`. `jnp.fft.rfft` is the same.
    """
    return transform_1d(jnp.fft.rfft, input, n, dim, norm, real=True)


def irfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Inverse of `rfft`: a real signal of length n, by default `2 * (size - 1)`.

    The arguments and errors are those of `fft`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(irfft(jnp.array([2.0, 0.0])))
        [1. 1.]

    Torch: `torch.fft.irfft`. `jnp.fft.irfft` is the same.
    """
    return transform_1d(jnp.fft.irfft, input, n, dim, norm)


def rfft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Transform a real signal by `rfft` along the second of two dims and `fft` along the first.

    The arguments and errors are those of `fft2`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rfft2(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.rfft2`. `jnp.fft.rfft2` is the same.
    """
    return transform_nd(jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Inverse of `rfft2`: a real signal from half of its spectrum.

    The arguments and errors are those of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(irfft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.irfft2`. `jnp.fft.irfft2` is the same.
    """
    return transform_nd(jnp.fft.irfftn, input, s, dim, norm)


def rfftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Transform a real signal by `rfft` along the last of several dims and `fft` along the others.

    The arguments and errors are those of `fft2`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(rfftn(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.rfftn`. `jnp.fft.rfftn` is the same.
    """
    return transform_nd(jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Inverse of `rfftn`: a real signal from half of its spectrum.

    The arguments and errors are those of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(irfftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.irfftn`. `jnp.fft.irfftn` is the same.
    """
    return transform_nd(jnp.fft.irfftn, input, s, dim, norm)
