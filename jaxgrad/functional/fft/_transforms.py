"""Handling of dims, sizes, norms and errors in all Fourier transforms, as in torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import HALF, array, canonical_dims, floating, is_complex
from jaxgrad.functional._core.dtypes import DtypeClassError


def transform_1d(
    fun: Callable[..., Array],
    input: Array,
    n: int | None,
    dim: int,
    norm: str | None,
    *,
    real: bool = False,
) -> Array:
    """Apply a transform along one dim; `real` rejects complex input."""
    input = _checked(fun.__name__, input, norm, real=real)
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    (axis,) = canonical_dims(dim, input.ndim)
    n = _length(fun, input.shape[axis]) if n is None else n
    _check_sizes([n])
    return normalize(fun, fun(input, n, axis), [n], norm)


def transform_nd(
    fun: Callable[..., Array],
    input: Array,
    s: int | Sequence[int] | None,
    dim: int | Sequence[int] | None,
    norm: str | None,
    *,
    real: bool = False,
) -> Array:
    """Apply a transform along several dims, or all; `real` rejects complex input."""
    input = _checked(fun.__name__, input, norm, real=real)
    sizes = (s,) if isinstance(s, int) else None if s is None else tuple(s)
    if dim is None:
        axes = tuple(range(input.ndim))[input.ndim - len(sizes) if sizes is not None else 0 :]
    else:
        axes = canonical_dims(dim, input.ndim, empty_is_all=False)
    if sizes is None:
        sizes = (-1,) * len(axes)
    if len(sizes) != len(axes):
        raise RuntimeError(
            "When given, dim and shape arguments must have the same length: they have "
            f"{len(axes)} and {len(sizes)}"
        )
    if not axes and fun is not jnp.fft.fftn and fun is not jnp.fft.ifftn:
        raise RuntimeError(f"{fun.__name__.strip('_')} must transform at least one axis")
    if not axes:
        return input.astype(jnp.promote_types(input.dtype, jnp.complex64))
    lengths = [input.shape[a] for a in axes]
    lengths[-1] = _length(fun, lengths[-1])
    sizes = tuple(default if n == -1 else n for default, n in zip(lengths, sizes, strict=True))
    _check_sizes(sizes)
    return normalize(fun, fun(input, sizes, axes), sizes, norm)


def normalize(fun: Callable[..., Array], y: Array, sizes: Sequence[int], norm: str | None) -> Array:
    """Rescale the transform `y`, which has the default norm "backward", to the given `norm`."""
    count = math.prod(sizes)
    if norm == "ortho":
        count = math.sqrt(count)
    elif norm != "forward":
        return y
    return scaled(y, count if fun.__name__.strip("_").startswith("i") else 1 / count)


def scaled(y: Array, factor: float) -> Array:
    """Scale real and imaginary parts separately; a complex product turns infinities into NaN."""
    if not is_complex(y):
        return y * factor
    return jax.lax.complex(y.real * factor, y.imag * factor)


def _length(fun: Callable[..., Array], size: int) -> int:
    """Return torch's default output length for an input of the given size."""
    return (
        2 * (size - 1) if fun.__name__.strip("_") in ("irfft", "hfft", "irfftn", "hfftn") else size
    )


def _checked(name: str, input: Array, norm: str | None, *, real: bool) -> Array:
    input = floating(array(input))
    if norm not in (None, "backward", "ortho", "forward"):
        raise RuntimeError(
            f'Invalid normalization mode: "{norm}"; use "backward", "ortho" or "forward"'
        )
    if input.dtype in HALF:
        raise RuntimeError(f"Unsupported dtype {input.dtype}; cast the input to float32")
    if real and is_complex(input):
        name = name.strip("_")
        raise DtypeClassError(
            f"{name} expects a real input tensor, but got {input.dtype}; take its real part"
        )
    return input


def _check_sizes(sizes: Sequence[int]) -> None:
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
