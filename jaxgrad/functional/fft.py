"""`torch.fft`, name by name: jnp.fft with torch's dims, errors and float32 for integers.

Transforms are linear, so that JAX's derivatives are torch's: by a complex number up to conjugation,
as `jaxgrad.functional.complex_numbers` says.
"""

from __future__ import annotations

from collections.abc import Callable as _Callable
from collections.abc import Sequence as _Sequence

import jax as _jax
import jax.numpy as _jnp

from jaxgrad.functional._arguments import HALF as _HALF
from jaxgrad.functional._arguments import array as _array
from jaxgrad.functional._arguments import canonical_dims as _canonical_dims
from jaxgrad.functional._arguments import floating as _floating
from jaxgrad.functional._arguments import is_complex as _is_complex


def fft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.fft, input, n, dim, norm)


def ifft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.ifft, input, n, dim, norm)


def rfft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.rfft, input, n, dim, norm, real=True)


def irfft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.irfft, input, n, dim, norm)


def hfft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.hfft, input, n, dim, norm)


def ihfft(
    input: _jax.Array, n: int | None = None, dim: int = -1, norm: str | None = None
) -> _jax.Array:
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
    return _along(_jnp.fft.ihfft, input, n, dim, norm, real=True)


def fft2(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.fftn, input, s, dim, norm)


def ifft2(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.ifftn, input, s, dim, norm)


def rfft2(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfft2(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.irfftn, input, s, dim, norm)


def fftn(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.fftn, input, s, dim, norm)


def ifftn(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.ifftn, input, s, dim, norm)


def rfftn(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.rfftn, input, s, dim, norm, real=True)


def irfftn(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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
    return _over(_jnp.fft.irfftn, input, s, dim, norm)


def hfft2(
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: _Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> _jax.Array:
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
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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
    input: _jax.Array,
    s: int | _Sequence[int] | None = None,
    dim: int | _Sequence[int] | None = None,
    norm: str | None = None,
) -> _jax.Array:
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


def fftshift(input: _jax.Array, dim: int | _Sequence[int] | None = None) -> _jax.Array:
    """The half of the frequencies that are negative, before the others.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.fftshift`. `jnp.fft.fftshift` is the same.
    """
    input = _array(input)
    return _jnp.fft.fftshift(input, _canonical_dims(dim, input.ndim))


def ifftshift(input: _jax.Array, dim: int | _Sequence[int] | None = None) -> _jax.Array:
    """The inverse of `fftshift`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ifftshift(jnp.arange(4)))
        [2 3 0 1]

    Torch: `torch.fft.ifftshift`. `jnp.fft.ifftshift` is the same.
    """
    input = _array(input)
    return _jnp.fft.ifftshift(input, _canonical_dims(dim, input.ndim))


def _hfftn(
    input: _jax.Array, sizes: _Sequence[int], axes: _Sequence[int], norm: str | None
) -> _jax.Array:
    if axes[:-1]:
        input = _jnp.fft.fftn(input, sizes[:-1], axes[:-1], norm)
    return _jnp.fft.hfft(input, sizes[-1], axes[-1], norm)


def _ihfftn(
    input: _jax.Array, sizes: _Sequence[int], axes: _Sequence[int], norm: str | None
) -> _jax.Array:
    input = _jnp.fft.ihfft(input, sizes[-1], axes[-1], norm)
    if axes[:-1]:
        input = _jnp.fft.ifftn(input, sizes[:-1], axes[:-1], norm)
    return input


def _along(
    fun: _Callable[..., _jax.Array],
    input: _jax.Array,
    n: int | None,
    dim: int,
    norm: str | None,
    *,
    real: bool = False,
) -> _jax.Array:
    input = _checked(fun.__name__, input, norm, real=real)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    (axis,) = _canonical_dims(dim, input.ndim)
    _check_sizes([_length(fun, input.shape[axis]) if n is None else n])
    return fun(input, n, axis, norm)


def _over(
    fun: _Callable[..., _jax.Array],
    input: _jax.Array,
    s: int | _Sequence[int] | None,
    dim: int | _Sequence[int] | None,
    norm: str | None,
    *,
    real: bool = False,
) -> _jax.Array:
    input = _checked(fun.__name__, input, norm, real=real)
    sizes = (s,) if isinstance(s, int) else None if s is None else tuple(s)
    if dim is None:
        axes = tuple(range(input.ndim))[input.ndim - len(sizes) if sizes is not None else 0 :]
    else:
        axes = _canonical_dims(dim, input.ndim, empty_is_all=False)
    if sizes is None:
        sizes = (-1,) * len(axes)
    if len(sizes) != len(axes):
        raise RuntimeError(
            "When given, dim and shape arguments must have the same length: they have "
            f"{len(axes)} and {len(sizes)}"
        )
    if not axes and fun is not _jnp.fft.fftn and fun is not _jnp.fft.ifftn:
        raise RuntimeError(f"{fun.__name__.strip('_')} must transform at least one axis")
    lengths = [input.shape[a] for a in axes]
    if axes:
        lengths[-1] = _length(fun, lengths[-1])
    sizes = tuple(own if n == -1 else n for own, n in zip(lengths, sizes, strict=True))
    _check_sizes(sizes)
    return fun(input, sizes, axes, norm)


def _length(fun: _Callable[..., _jax.Array], size: int) -> int:
    """How long the transform of `size` numbers is: real ones are twice their first half."""
    return (
        2 * (size - 1) if fun.__name__.strip("_") in ("irfft", "hfft", "irfftn", "hfftn") else size
    )


def _checked(name: str, input: _jax.Array, norm: str | None, *, real: bool) -> _jax.Array:
    input = _floating(_array(input))
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}"; use "backward", "ortho" or "forward"'
        )
    if input.dtype in _HALF:
        raise RuntimeError(f"Unsupported dtype {input.dtype}; transform it in float32")
    if real and _is_complex(input):
        name = name.strip("_")
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {input.dtype}; take its real part"
        )
    return input


def _check_sizes(sizes: _Sequence[int]) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
