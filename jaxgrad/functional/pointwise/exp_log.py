"""Exponentials and logarithms with torch's derivative formulas, including second derivatives."""

from __future__ import annotations

import math

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def exp(input: Array) -> Array:
    """Return the exponential of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(exp)(0.0):.4f}")
        1.0000

    Torch: `torch.exp`.
    """
    return in_opmath(_exp, array(input))


@derivative(lambda t, y, _: t * y)
def _exp(x: Array) -> Array:
    return jnp.exp(x)


def exp2(input: Array) -> Array:
    """Return 2 to the power of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(exp2)(1.0):.4f}")
        1.3863

    Torch: `torch.exp2`.
    """
    return in_opmath(_exp2, array(input))


@derivative(lambda t, y, _: t * (y * math.log(2)))
def _exp2(x: Array) -> Array:
    return jnp.exp2(x)


def expm1(input: Array) -> Array:
    """Return `exp(x) - 1`, accurate near 0.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(expm1)(0.0):.4f}")
        1.0000

    Torch: `torch.expm1`.

    Differs from jax in:
        1. The gradient is the result plus 1, which is 0 below x = -37 (`jnp.expm1`: exp(x)).
    """
    return in_opmath(_expm1, array(input))


@derivative(lambda t, y, _: t * (y + 1))
def _expm1(x: Array) -> Array:
    return jnp.expm1(x)


def log(input: Array) -> Array:
    """Return the natural logarithm of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log)(2.0):.4f}")
        0.5000

    Torch: `torch.log`.
    """
    return in_opmath(_log, array(input))


@derivative(lambda t, _, x: t / x)
def _log(x: Array) -> Array:
    return jnp.log(x)


def log2(input: Array) -> Array:
    """Return the logarithm to base 2 of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log2)(1.0):.4f}")
        1.4427

    Torch: `torch.log2`.
    """
    return in_opmath(_log2, array(input))


@derivative(lambda t, _, x: t / (x * math.log(2)))
def _log2(x: Array) -> Array:
    return jnp.log2(x)


def log10(input: Array) -> Array:
    """Return the logarithm to base 10 of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log10)(1.0):.4f}")
        0.4343

    Torch: `torch.log10`.
    """
    return in_opmath(_log10, array(input))


@derivative(lambda t, _, x: t / (x * math.log(10)))
def _log10(x: Array) -> Array:
    return jnp.log10(x)


def log1p(input: Array) -> Array:
    """Return `log(1 + x)`, accurate near 0.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log1p)(1.0):.4f}")
        0.5000

    Torch: `torch.log1p`.
    """
    return in_opmath(_log1p, array(input))


@derivative(lambda t, _, x: t / (x + 1))
def _log1p(x: Array) -> Array:
    return jnp.log1p(x)


def logaddexp(input: Array, other: Array) -> Array:
    """Return `log(exp(input) + exp(other))` without overflow.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(logaddexp)(0.0, jnp.zeros(())))
        0.5

    Torch: `torch.logaddexp`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At an infinity the gradient is 0 or 1 (`jnp.logaddexp`: e at (1, inf)); at two equal
           infinities it is NaN (`jnp.logaddexp`: 1).
    """
    reject("logaddexp", "bool integer", input, other)
    return in_opmath(_logaddexp, array(input), array(other, "other"))


@derivative(
    lambda t, _, x, y: t / (1 + jnp.exp(y - x)), lambda t, _, x, y: t / (1 + jnp.exp(x - y))
)
def _logaddexp(x: Array, y: Array) -> Array:
    high = jnp.maximum(x, y)
    return jnp.where(jnp.isinf(x) & (x == y), x, high + jnp.log1p(jnp.exp(-jnp.abs(x - y))))


def logaddexp2(input: Array, other: Array) -> Array:
    """Return `log2(2**input + 2**other)` without overflow.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(logaddexp2)(0.0, jnp.zeros(())))
        0.5

    Torch: `torch.logaddexp2`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At an infinity the gradient is 0 or 1 (`jnp.logaddexp2`: 2 at (1, inf)); at two equal
           infinities it is NaN (`jnp.logaddexp2`: 1).
    """
    reject("logaddexp2", "bool integer complex", input, other)
    return in_opmath(_logaddexp2, array(input), array(other, "other"))


@derivative(
    lambda t, _, x, y: t / (1 + jnp.exp2(y - x)), lambda t, _, x, y: t / (1 + jnp.exp2(x - y))
)
def _logaddexp2(x: Array, y: Array) -> Array:
    high = jnp.maximum(x, y)
    small = jnp.log1p(jnp.exp2(-jnp.abs(x - y))) / jnp.log(jnp.asarray(2, x.dtype))
    return jnp.where(jnp.isinf(x) & (x == y), x, high + small)
