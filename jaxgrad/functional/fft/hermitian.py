"""Fourier transforms between half of a Hermitian signal and its real spectrum."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.windows import Sizes
from jaxgrad.functional.fft._transforms import scaled, transform_1d, transform_nd


def hfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Discrete Fourier transform of a Hermitian signal, given its first half.

    The arguments and errors are those of `fft`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfft(jnp.array([1.0, 1.0])))
        [2. 0.]

    Torch: `torch.fft.hfft`. `jnp.fft.hfft` is the same.
    """
    return transform_1d(jnp.fft.hfft, input, n, dim, norm)


def ihfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Inverse of `hfft`: the first half of a Hermitian signal from its real spectrum.

    The arguments and errors are those of `fft`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfft(jnp.array([2.0, 0.0])).real)
        [1. 1.]

    Torch: `torch.fft.ihfft`. `jnp.fft.ihfft` is the same.
    """
    return transform_1d(_ihfft, input, n, dim, norm, real=True)


def hfft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Transform a Hermitian signal: `fft` along the first of two dims, `hfft` along the second.

    The arguments and errors are those of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfft2(jnp.ones((2, 2))))
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.hfft2`.
    """
    return transform_nd(_hfftn, input, s, dim, norm)


def ihfft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Inverse of `hfft2`: half of a Hermitian signal from its real spectrum.

    The arguments and errors are those of `fft2`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ihfft2`.
    """
    return transform_nd(_ihfftn, input, s, dim, norm, real=True)


def hfftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Transform a Hermitian signal: `hfft` along the last given dim, `fft` along the others.

    The arguments and errors are those of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfftn(jnp.ones((2, 2))))
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.hfftn`.
    """
    return transform_nd(_hfftn, input, s, dim, norm)


def ihfftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Inverse of `hfftn`: half of a Hermitian signal from its real spectrum.

    The arguments and errors are those of `fft2`; a complex input raises TypeError.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ihfftn`.
    """
    return transform_nd(_ihfftn, input, s, dim, norm, real=True)


def _ihfft(input: Array, n: int, axis: int) -> Array:
    return scaled(jnp.conj(jnp.fft.rfft(input, n, axis)), 1 / n)


def _hfftn(input: Array, sizes: Sequence[int], axes: Sequence[int]) -> Array:
    if axes[:-1]:
        input = jnp.fft.fftn(input, sizes[:-1], axes[:-1])
    return jnp.fft.hfft(input, sizes[-1], axes[-1])


def _ihfftn(input: Array, sizes: Sequence[int], axes: Sequence[int]) -> Array:
    input = _ihfft(input, sizes[-1], axes[-1])
    if axes[:-1]:
        input = jnp.fft.ifftn(input, sizes[:-1], axes[:-1])
    return input
