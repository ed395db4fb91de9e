"""Modified Bessel functions of the first kind, plain and scaled by `exp(-|x|)`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jss

from jaxgrad._core.torch_versions import BESSEL_OF_NAN, NEWEST
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def i0(input: Array, *, torch: str = NEWEST) -> Array:
    """Return the modified Bessel function of the first kind, of order 0.

    Args:
        input: Array of any shape.
        torch: Version whose derivatives are computed. Before torch 2.15 the derivative of
            `i1` at NaN was 0.5.

    Example:
        >>> import jax
        >>> print(jax.grad(i0)(0.0))
        0.0

    Torch: `torch.i0`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Near 0 the gradient is x / 2 (`jnp.i0`: 0 below 1e-16); above 709 it is inf (`jnp.i0`:
           NaN).
    """
    reject("i0", "complex", input)
    return in_opmath(_i0, array(input), nan=BESSEL_OF_NAN.holds(torch))


@derivative(lambda t, _, x, nan: t * _i1(x, nan=nan))
def _i0(x: Array, *, nan: bool) -> Array:
    del nan
    return jss.i0(x)


def i0e(input: Array) -> Array:
    """Return `exp(-|x|) * i0(x)`, which does not overflow.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(i0e)(1.0):.4f}")
        -0.2578

    Torch: `torch.special.i0e`.
    """
    reject("special.i0e", "complex", input)
    return in_opmath(_i0e, array(input), nan=True)


@derivative(lambda t, y, x, nan: t * (_i1e(x, nan=nan) - jnp.sign(x) * y))
def _i0e(x: Array, *, nan: bool) -> Array:
    del nan
    return jss.i0e(x)


def i1(input: Array, *, torch: str = NEWEST) -> Array:
    """Return the modified Bessel function of the first kind, of order 1.

    Args:
        input: Array of any shape.
        torch: Version whose derivatives are computed. Before torch 2.15 the derivative of
            `i1` at NaN was 0.5.

    Example:
        >>> import jax
        >>> print(jax.grad(i1)(0.0))
        0.5

    Torch: `torch.special.i1`.
    """
    reject("special.i1", "complex", input)
    return in_opmath(_i1, array(input), nan=BESSEL_OF_NAN.holds(torch))


def _nonzero(x: Any, nan: bool) -> tuple[Any, Any]:
    """Return a mask of the elements above eps in magnitude, and `x` with others replaced by eps.

    If `nan`, the mask has the elements that are NaN.
    """
    eps = jnp.finfo(x.dtype).eps
    mask = ~(jnp.abs(x) <= eps) if nan else jnp.abs(x) > eps
    return mask, jnp.where(mask, x, eps)


def _i1_derivative(t: Any, y: Any, x: Any, nan: bool) -> Any:
    mask, safe = _nonzero(x, nan)
    return t * jnp.where(mask, _i0(safe, nan=nan) - y / safe, 0.5)


@derivative(_i1_derivative)
def _i1(x: Array, *, nan: bool) -> Array:
    del nan
    return jss.i1(x)


def i1e(input: Array, *, torch: str = NEWEST) -> Array:
    """Return `exp(-|x|) * i1(x)`, which does not overflow.

    Args:
        input: Array of any shape.
        torch: Version whose derivatives are computed. Before torch 2.15 the derivative of
            `i1e` at NaN was 0.5.

    Example:
        >>> import jax
        >>> print(jax.grad(i1e)(0.0))
        0.5

    Torch: `torch.special.i1e`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At NaN the gradient is NaN (`jax.scipy.special.i1e`: 0.5).
    """
    reject("special.i1e", "complex", input)
    return in_opmath(_i1e, array(input), nan=BESSEL_OF_NAN.holds(torch))


def _i1e_derivative(t: Any, y: Any, x: Any, nan: bool) -> Any:
    mask, safe = _nonzero(x, nan)
    factor = _i0e(safe, nan=nan) - y * (jnp.sign(safe) + 1 / safe)
    return t * jnp.where(mask, factor, 0.5)


@derivative(_i1e_derivative)
def _i1e(x: Array, *, nan: bool) -> Array:
    del nan
    return jss.i1e(x)
