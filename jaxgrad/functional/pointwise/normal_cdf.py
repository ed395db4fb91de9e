"""The normal distribution's functions, scaled error functions and entropies, torch's formulas."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jss

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.arithmetic import _erf


def ndtr(input: Array) -> Array:
    """The normal distribution's share below the input: `(1 + erf(x / sqrt(2))) / 2`.

    So it is 0 below -8.3, where the share is a small number; `log_ndtr` has its logarithm.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(ndtr)(0.0):.4f}")
        0.3989

    Torch: `torch.special.ndtr`.
    """
    return in_opmath(lambda x: (1 + _erf(x / math.sqrt(2))) * 0.5, array(input))


def ndtri(input: Array) -> Array:
    """The inverse of `ndtr`.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(ndtri)(0.5):.4f}")
        2.5066

    Gradient conventions: docs/operators.md.
    Torch: `torch.special.ndtri`.

    Differs from jax in:
        1. At 0 and 1 the gradient is inf (`jax.scipy.special.ndtri`: 0).
    """
    return in_opmath(_ndtri, array(input))


@derivative(lambda t, y, _: t * (math.sqrt(2 * math.pi) * jnp.exp(y * y / 2)))
def _ndtri(x: Array) -> Array:
    return jss.ndtri(x)


def log_ndtr(input: Array) -> Array:
    """The logarithm of the normal distribution's share below the input.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log_ndtr)(0.0):.4f}")
        0.7979

    Torch: `torch.special.log_ndtr`.

    Differs from jax in:
        1. Far below 0 value and gradient are right to the last digits
           (`jax.scipy.special.log_ndtr`: a series, and a gradient of 1 at -1e10).
    """
    return in_opmath(_log_ndtr, array(input))


def _log_ndtr_derivative(t: Any, _: Any, x: Any) -> Any:
    slope = math.sqrt(2 / math.pi) / _erfcx(x * -math.sqrt(0.5))
    return t * jnp.where(x == -jnp.inf, jnp.nan, slope)  # torch: exp(inf - inf)


@derivative(_log_ndtr_derivative)
def _log_ndtr(x: Array) -> Array:
    z = x * math.sqrt(0.5)
    tail = jnp.log(jss.erfcx(-z) / 2) - z * z
    return jnp.where(x < -1, tail, jnp.log1p(-jax.lax.erfc(z) / 2))


def erfcx(input: Array) -> Array:
    """`exp(x * x) * erfc(x)`.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erfcx)(0.0):.4f}")
        -1.1284

    Torch: `torch.special.erfcx`.
    """
    reject("special.erfcx", "complex", input)
    return in_opmath(_erfcx, array(input))


@derivative(lambda t, y, x: t * (2 * x * y - 2 / math.sqrt(math.pi)))
def _erfcx(x: Array) -> Array:
    return jss.erfcx(x)


def entr(input: Array) -> Array:
    """`-x * log(x)`, 0 at 0 and -inf below.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(entr)(0.5):.4f}")
        -0.3069

    Torch: `torch.special.entr`.
    """
    return in_opmath(_entr, array(input))


@derivative(lambda t, _, x: t * (-(jnp.log(x) + 1)))
def _entr(x: Array) -> Array:
    return jss.entr(x)


def xlog1py(input: ArrayLike, other: ArrayLike) -> Array:
    """`input * log1p(other)`, 0 where the input is 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(xlog1py)(0.0, jnp.array(-1.0)))
        0.0

    Gradient conventions: docs/operators.md.
    Torch: `torch.special.xlog1py`.

    Differs from jax in:
        1. At (0, -1) and below the gradient is 0 (`jax.scipy.special.xlog1py`: -inf or NaN).
    """
    reject("special.xlog1py", "complex", input, other)
    return in_opmath(_xlog1py, input, other)


def _xlog1py_by_input(t: Any, _: Any, x: Any, y: Any) -> Any:
    none = (x == 0) & (y <= -1)
    each = jnp.broadcast_to(y, none.shape)  # as of xlogy
    return jnp.where(none, 0, t) * jnp.where(none, 0, jnp.log1p(each))


@derivative(_xlog1py_by_input, lambda t, _, x, y: t * (x / (y + 1)))
def _xlog1py(x: Array, y: Array) -> Array:
    found = x * jnp.log1p(y)
    return jnp.where(jnp.isnan(y), jnp.nan, jnp.where(x == 0, 0, found))
