"""Complex Fourier transforms: jnp.fft with torch's dims, errors and float32 for integers.

Transforms are linear, so that JAX's derivatives are torch's: by a complex number up to conjugation,
as `jaxgrad.functional.complex_numbers` says.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, canonical_dims
from jaxgrad.functional.fft._transforms import _along, _over


def fft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """The discrete Fourier transform along a dim.

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
        >>> print(fft(jnp.array([1.0, 1.0])).real)
        [2. 0.]

    Torch: `torch.fft.fft`. `jnp.fft.fft` is the same.
    """
    return _along(jnp.fft.fft, input, n, dim, norm)


def ifft(
    input: jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> jax.Array:
    """The inverse of `fft`.

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
        >>> print(ifft(jnp.array([2.0, 0.0])).real)
        [1. 1.]

    Torch: `torch.fft.ifft`. `jnp.fft.ifft` is the same.
    """
    return _along(jnp.fft.ifft, input, n, dim, norm)


def fft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """`fft` along two dims.

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
        >>> print(fft2(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.fft2`. `jnp.fft.fft2` is the same.
    """
    return _over(jnp.fft.fftn, input, s, dim, norm)


def ifft2(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `fft2`.

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
        >>> print(ifft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ifft2`. `jnp.fft.ifft2` is the same.
    """
    return _over(jnp.fft.ifftn, input, s, dim, norm)


def fftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """`fft` along several dims, or all.

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
        >>> print(fftn(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.fftn`. `jnp.fft.fftn` is the same.
    """
    return _over(jnp.fft.fftn, input, s, dim, norm)


def ifftn(
    input: jax.Array,
    s: int | Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> jax.Array:
    """The inverse of `fftn`.

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
        >>> print(ifftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ifftn`. `jnp.fft.ifftn` is the same.
    """
    return _over(jnp.fft.ifftn, input, s, dim, norm)


def fftshift(input: jax.Array, dim: int | Sequence[int] | None = None) -> jax.Array:
    """The half of the frequencies that are negative, before the others.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.fftshift`. `jnp.fft.fftshift` is the same.
    """
    input = array(input)
    return jnp.fft.fftshift(input, canonical_dims(dim, input.ndim))


def ifftshift(input: jax.Array, dim: int | Sequence[int] | None = None) -> jax.Array:
    """The inverse of `fftshift`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.ifftshift`. `jnp.fft.ifftshift` is the same.
    """
    input = array(input)
    return jnp.fft.ifftshift(input, canonical_dims(dim, input.ndim))
