"""Complex Fourier transforms: `jnp.fft` with torch's dims and errors, and float32 for integers.

The transforms are linear, so JAX's derivatives equal torch's up to the conjugation that
`jaxgrad.functional.pointwise.complex_numbers` describes.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, canonical_dims
from jaxgrad.functional._core.windows import Sizes
from jaxgrad.functional.fft._transforms import transform_1d, transform_nd


def fft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Discrete Fourier transform along one dim.

    Args:
        input: Signal, of any shape with at least one dim.
        n: Length to which the signal is cut or zero-padded; None means no change.
        dim: Dim to transform.
        norm: Transform scaled by 1 / n: `"backward"` (or None), `"forward"`; `"ortho"`: 1 / sqrt n.

    Raises:
        RuntimeError: `n` is not positive, or `norm` is unknown.
        IndexError: The input does not have this dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fft(jnp.array([1.0, 1.0])).real)
        [2. 0.]

    Torch: `torch.fft.fft`. `jnp.fft.fft` is the same.
    """
    return transform_1d(jnp.fft.fft, input, n, dim, norm)


def ifft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """Inverse discrete Fourier transform along one dim, with the arguments and errors of `fft`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifft(jnp.array([2.0, 0.0])).real)
        [1. 1.]

    Torch: `torch.fft.ifft`. `jnp.fft.ifft` is the same.
    """
    return transform_1d(jnp.fft.ifft, input, n, dim, norm)


def fft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Discrete Fourier transform along two dims.

    Args:
        input: Signal, of any shape with these dims.
        s: Lengths to which the dims (the last ones if `dim` is None) are cut or zero-padded.
        dim: Dims to transform; None means all.
        norm: Transform scaled by 1 / n: `"backward"` (or None), `"forward"`; `"ortho"`: 1 / sqrt n.

    Raises:
        RuntimeError: A length is not positive, a dim occurs twice, or `norm` is unknown.
        IndexError: The input does not have this dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fft2(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.fft2`. `jnp.fft.fft2` is the same.
    """
    return transform_nd(jnp.fft.fftn, input, s, dim, norm)


def ifft2(
    input: Array, s: Sizes | None = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Array:
    """Inverse discrete Fourier transform along two dims, with the arguments and errors of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifft2(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ifft2`. `jnp.fft.ifft2` is the same.
    """
    return transform_nd(jnp.fft.ifftn, input, s, dim, norm)


def fftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Discrete Fourier transform along several dims, with the arguments and errors of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fftn(jnp.ones((2, 2))).real)
        [[4. 0.]
         [0. 0.]]

    Torch: `torch.fft.fftn`. `jnp.fft.fftn` is the same.
    """
    return transform_nd(jnp.fft.fftn, input, s, dim, norm)


def ifftn(
    input: Array, s: Sizes | None = None, dim: Sizes | None = None, norm: str | None = None
) -> Array:
    """Inverse of `fftn`, with the arguments and errors of `fft2`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifftn(jnp.array([[4.0, 0.0], [0.0, 0.0]])).real)
        [[1. 1.]
         [1. 1.]]

    Torch: `torch.fft.ifftn`. `jnp.fft.ifftn` is the same.
    """
    return transform_nd(jnp.fft.ifftn, input, s, dim, norm)


def fftshift(input: Array, dim: Sizes | None = None) -> Array:
    """Reorder frequencies so that the negative ones come first.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.fftshift`. `jnp.fft.fftshift` is the same.
    """
    input = array(input)
    return jnp.fft.fftshift(input, canonical_dims(dim, input.ndim))


def ifftshift(input: Array, dim: Sizes | None = None) -> Array:
    """Undo `fftshift`: reorder frequencies so that zero comes first.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.ifftshift`. `jnp.fft.ifftshift` is the same.
    """
    input = array(input)
    return jnp.fft.ifftshift(input, canonical_dims(dim, input.ndim))
