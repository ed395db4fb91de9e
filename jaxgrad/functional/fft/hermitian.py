"""Fourier transforms of Hermitian input, and back."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad.functional.fft._transforms import _along, _over, _scaled


def hfft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """`fft` of a signal that is Hermitian, from its first half.

    Args:
        input: Of any shape with a dim.
        n: How much of it, or with zeros after it.
        dim: The dim.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division by n is.

    Raises:
        RuntimeError: n is not positive, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfft(jnp.array([1.0, 1.0])))
        [2. 0.]

    Torch: `torch.fft.hfft`. `jnp.fft.hfft` is the same.
    """
    return _along(jnp.fft.hfft, input, n, dim, norm)


def ihfft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """The inverse of `hfft`.

    Args:
        input: Of any shape with a dim.
        n: How much of it, or with zeros after it.
        dim: The dim.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division by n is.

    Raises:
        RuntimeError: n is not positive, the input is complex, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfft(jnp.array([2.0, 0.0])).real)
        [1. 1.]

    Torch: `torch.fft.ihfft`. `jnp.fft.ihfft` is the same.
    """
    return _along(_ihfft, input, n, dim, norm, real=True)


def hfft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """`fft` along one of two dims, then `hfft` along the last.

    Args:
        input: Of any shape with these dims.
        s: How much of it along each dim, or with zeros after it; without dims of the last ones.
        dim: The dims.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division is.

    Raises:
        RuntimeError: A size is not positive, a dim is named twice, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfft2(jnp.ones((2, 2))))
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.hfft2`.
    """
    return _over(_hfftn, input, s, dim, norm)


def ihfft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `hfft2`.

    Args:
        input: Of any shape with these dims.
        s: How much of it along each dim, or with zeros after it; without dims of the last ones.
        dim: The dims.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division is.

    Raises:
        RuntimeError: A size is not positive, the input is complex, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ihfft2`.
    """
    return _over(_ihfftn, input, s, dim, norm, real=True)


def hfftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """`fft` along several dims, or all, but the last; then `hfft` along it.

    Args:
        input: Of any shape with these dims.
        s: How much of it along each dim, or with zeros after it; without dims of the last ones.
        dim: The dims.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division is.

    Raises:
        RuntimeError: A size is not positive, a dim is named twice, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(hfftn(jnp.ones((2, 2))))
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.hfftn`.
    """
    return _over(_hfftn, input, s, dim, norm)


def ihfftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `hfftn`.

    Args:
        input: Of any shape with these dims.
        s: How much of it along each dim, or with zeros after it; without dims of the last ones.
        dim: The dims.
        norm: `"backward"` (None), `"ortho"` or `"forward"`: where the division is.

    Raises:
        RuntimeError: A size is not positive, the input is complex, or there is no such norm.
        IndexError: There is no such dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ihfftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ihfftn`.
    """
    return _over(_ihfftn, input, s, dim, norm, real=True)


def _ihfft(input: jax.Array, n: int, axis: int) -> jax.Array:
    return _scaled(jnp.conj(jnp.fft.rfft(input, n, axis)), 1 / n)


def _hfftn(input: jax.Array, sizes: Sequence[int], axes: Sequence[int]) -> jax.Array:
    if axes[:-1]:
        input = jnp.fft.fftn(input, sizes[:-1], axes[:-1])
    return jnp.fft.hfft(input, sizes[-1], axes[-1])


def _ihfftn(input: jax.Array, sizes: Sequence[int], axes: Sequence[int]) -> jax.Array:
    input = _ihfft(input, sizes[-1], axes[-1])
    if axes[:-1]:
        input = jnp.fft.ifftn(input, sizes[:-1], axes[:-1])
    return input
