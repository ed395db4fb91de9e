"""Error functions and normal distribution functions with torch's derivative formulas."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jss

from jaxgrad._core.compat import erfcx as erfcx_kernel
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def ndtr(input: Array) -> Array:
    """Return the standard normal distribution function, `(1 + erf(x / sqrt(2))) / 2`.

    The formula gives 0 below -8.3, where the true value is tiny; `log_ndtr` is accurate there.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(ndtr)(0.0):.4f}")
        0.3989

    Torch: `torch.special.ndtr`.
    """
    reject("special.ndtr", "complex", input)
    return in_opmath(lambda x: (1 + erf_kernel(x / math.sqrt(2))) * 0.5, array(input))


def ndtri(input: Array) -> Array:
    """Return the inverse of the standard normal distribution function `ndtr`.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(ndtri)(0.5):.4f}")
        2.5066

    Torch: `torch.special.ndtri`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At 0 and 1 the gradient is inf (`jax.scipy.special.ndtri` before JAX 0.12: 0).
    """
    reject("special.ndtri", "complex", input)
    return in_opmath(_ndtri, array(input))


@derivative(lambda t, y, _: t * (math.sqrt(2 * math.pi) * jnp.exp(y * y / 2)))
def _ndtri(x: Array) -> Array:
    return jss.ndtri(x)


def log_ndtr(input: Array) -> Array:
    """Return the logarithm of the standard normal distribution function, accurate in the tail.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log_ndtr)(0.0):.4f}")
        0.7979

    Torch: `torch.special.log_ndtr`.

    Differs from jax in:
        1. Far below 0 the value and gradient are accurate to the last digits
           (`jax.scipy.special.log_ndtr`: a series, with gradient 1 at -1e10).
    """
    reject("special.log_ndtr", "complex", input)
    return in_opmath(_log_ndtr, array(input))


def _log_ndtr_derivative(t: Any, _: Any, x: Any) -> Any:
    slope = math.sqrt(2 / math.pi) / _erfcx(x * -math.sqrt(0.5))
    return t * jnp.where(x == -jnp.inf, jnp.nan, slope)  # torch computes exp(inf - inf) there


@derivative(_log_ndtr_derivative)
def _log_ndtr(x: Array) -> Array:
    z = x * math.sqrt(0.5)
    tail = jnp.log(erfcx_kernel(-z) / 2) - z * z
    return jnp.where(x < -1, tail, jnp.log1p(-jax.lax.erfc(z) / 2))


def erfcx(input: Array) -> Array:
    """Return `exp(x * x) * erfc(x)`, the scaled complementary error function.

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
    # torch's formula for large x: the gradient is a difference in which most digits cancel, and
    # versions of JAX differ in the last digits of erfcx.
    z, scale = jnp.clip(x, 50, 5e7), 1 / math.sqrt(math.pi)
    square = z * z
    fraction = scale * (square * (square + 4.5) + 2) / (z * (square * (square + 5) + 3.75))
    return jnp.where(x > 50, jnp.where(x > 5e7, scale / x, fraction), erfcx_kernel(x))


def erf(input: Array) -> Array:
    """Return the error function of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erf)(0.0):.4f}")
        1.1284

    Torch: `torch.erf`.
    """
    reject("erf", "complex", input)
    return in_opmath(erf_kernel, array(input))


def erfc(input: Array) -> Array:
    """Return 1 minus the error function of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erfc)(0.0):.4f}")
        -1.1284

    Torch: `torch.erfc`.
    """
    reject("erfc", "complex", input)
    return in_opmath(_erfc, array(input))


@derivative(lambda t, _, x: t * (-2 / math.sqrt(math.pi) * jnp.exp(-(x * x))))
def _erfc(x: Array) -> Array:
    return jax.lax.erfc(x)


def erfinv(input: Array) -> Array:
    """Return the inverse of the error function at each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erfinv)(0.0):.4f}")
        0.8862

    Torch: `torch.erfinv`.
    """
    reject("erfinv", "complex", input)
    return in_opmath(_erfinv, array(input))


@derivative(lambda t, y, _: t * (0.5 * math.sqrt(math.pi) * jnp.exp(y * y)))
def _erfinv(x: Array) -> Array:
    return jax.lax.erf_inv(x)


@derivative(lambda t, _, x: t * (2 / math.sqrt(math.pi) * jnp.exp(-(x * x))))
def erf_kernel(x: Array) -> Array:
    return jax.lax.erf(x)
