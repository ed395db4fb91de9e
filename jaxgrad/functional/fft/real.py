"""Fourier transforms of real input, and back."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad.functional.fft._transforms import _along, _over


def rfft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """The first half of `fft`, of real numbers.

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
        >>> print(rfft(jnp.array([1.0, 1.0])).real)
        [2. 0.]

    Torch: `torch.fft.rfft`. `jnp.fft.rfft` is the same.
    """
    return _along(jnp.fft.rfft, input, n, dim, norm, real=True)


def irfft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """The inverse of `rfft`, of length n, else `2 * (size - 1)`.

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
        >>> print(irfft(jnp.array([2.0, 0.0])))
        [1. 1.]

    Torch: `torch.fft.irfft`. `jnp.fft.irfft` is the same.
    """
    return _along(jnp.fft.irfft, input, n, dim, norm)


def rfft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """`rfft` along the last of two dims, then `fft` along the other.

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
        >>> print(rfft2(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.rfft2`. `jnp.fft.rfft2` is the same.
    """
    return _over(jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `rfft2`.

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
        >>> print(irfft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.irfft2`. `jnp.fft.irfft2` is the same.
    """
    return _over(jnp.fft.irfftn, input, s, dim, norm)


def rfftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """`rfft` along the last of several dims, or of all, then `fft` along the others.

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
        >>> print(rfftn(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.rfftn`. `jnp.fft.rfftn` is the same.
    """
    return _over(jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `rfftn`.

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
        >>> print(irfftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.irfftn`. `jnp.fft.irfftn` is the same.
    """
    return _over(jnp.fft.irfftn, input, s, dim, norm)
