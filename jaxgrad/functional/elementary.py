"""Elementary functions of one number: torch's derivative formulas, and its second derivatives."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from ._arguments import array, in_opmath, is_floating
from ._rule import derivative


def exp(input: jax.Array) -> jax.Array:
    """The exponential.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(exp)(0.0):.4f}")
        1.0000

    Torch: `torch.exp`.
    """
    return in_opmath(_exp, array(input))


@derivative(lambda t, y, _: t * y)
def _exp(x: jax.Array) -> jax.Array:
    return jnp.exp(x)


def exp2(input: jax.Array) -> jax.Array:
    """Two to the power of the input.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(exp2)(1.0):.4f}")
        1.3863

    Torch: `torch.exp2`.
    """
    return in_opmath(_exp2, array(input))


@derivative(lambda t, y, _: t * (y * math.log(2)))
def _exp2(x: jax.Array) -> jax.Array:
    return jnp.exp2(x)


def expm1(input: jax.Array) -> jax.Array:
    """The exponential minus 1, exact near 0.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(expm1)(0.0):.4f}")
        1.0000

    Torch: `torch.expm1`.

    Differs from jax in:
        1. The gradient is the result plus 1, 0 from x = -37 on (`jnp.expm1`: exp(x)).
    """
    return in_opmath(_expm1, array(input))


@derivative(lambda t, y, _: t * (y + 1))
def _expm1(x: jax.Array) -> jax.Array:
    return jnp.expm1(x)


def log(input: jax.Array) -> jax.Array:
    """The natural logarithm.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log)(2.0):.4f}")
        0.5000

    Torch: `torch.log`.
    """
    return in_opmath(_log, array(input))


@derivative(lambda t, _, x: t / x)
def _log(x: jax.Array) -> jax.Array:
    return jnp.log(x)


def log2(input: jax.Array) -> jax.Array:
    """The logarithm to base 2.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log2)(1.0):.4f}")
        1.4427

    Torch: `torch.log2`.
    """
    return in_opmath(_log2, array(input))


@derivative(lambda t, _, x: t / (x * math.log(2)))
def _log2(x: jax.Array) -> jax.Array:
    return jnp.log2(x)


def log10(input: jax.Array) -> jax.Array:
    """The logarithm to base 10.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log10)(1.0):.4f}")
        0.4343

    Torch: `torch.log10`.
    """
    return in_opmath(_log10, array(input))


@derivative(lambda t, _, x: t / (x * math.log(10)))
def _log10(x: jax.Array) -> jax.Array:
    return jnp.log10(x)


def log1p(input: jax.Array) -> jax.Array:
    """The logarithm of 1 plus the input, exact near 0.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(log1p)(1.0):.4f}")
        0.5000

    Torch: `torch.log1p`.
    """
    return in_opmath(_log1p, array(input))


@derivative(lambda t, _, x: t / (x + 1))
def _log1p(x: jax.Array) -> jax.Array:
    return jnp.log1p(x)


def sin(input: jax.Array) -> jax.Array:
    """The sine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(sin)(0.0):.4f}")
        1.0000

    Torch: `torch.sin`.
    """
    return in_opmath(_sin, array(input))


@derivative(lambda t, _, x: t * cos(x))
def _sin(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


def cos(input: jax.Array) -> jax.Array:
    """The cosine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(cos)(0.0):.4f}")
        -0.0000

    Torch: `torch.cos`.
    """
    return in_opmath(_cos, array(input))


@derivative(lambda t, _, x: t * -sin(x))
def _cos(x: jax.Array) -> jax.Array:
    return jnp.cos(x)


def tan(input: jax.Array) -> jax.Array:
    """The tangent.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(tan)(0.0):.4f}")
        1.0000

    Torch: `torch.tan`.
    """
    return in_opmath(_tan, array(input))


@derivative(lambda t, y, _: t * (1 + y * y))
def _tan(x: jax.Array) -> jax.Array:
    return jnp.tan(x)


def asin(input: jax.Array) -> jax.Array:
    """The inverse sine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(asin)(0.0):.4f}")
        1.0000

    Torch: `torch.asin`.
    """
    return in_opmath(_asin, array(input))


@derivative(lambda t, _, x: t * jax.lax.rsqrt(1 - x * x))
def _asin(x: jax.Array) -> jax.Array:
    return jnp.arcsin(x)


def acos(input: jax.Array) -> jax.Array:
    """The inverse cosine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(acos)(0.0):.4f}")
        -1.0000

    Torch: `torch.acos`.
    """
    return in_opmath(_acos, array(input))


@derivative(lambda t, _, x: t * -jax.lax.rsqrt(1 - x * x))
def _acos(x: jax.Array) -> jax.Array:
    return jnp.arccos(x)


def atan(input: jax.Array) -> jax.Array:
    """The inverse tangent.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(atan)(0.0):.4f}")
        1.0000

    Torch: `torch.atan`.
    """
    return in_opmath(_atan, array(input))


@derivative(lambda t, _, x: t / (x * x + 1))
def _atan(x: jax.Array) -> jax.Array:
    return jnp.arctan(x)


def sinh(input: jax.Array) -> jax.Array:
    """The hyperbolic sine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(sinh)(0.0):.4f}")
        1.0000

    Torch: `torch.sinh`.
    """
    return in_opmath(_sinh, array(input))


@derivative(lambda t, _, x: t * cosh(x))
def _sinh(x: jax.Array) -> jax.Array:
    return jnp.sinh(x)


def cosh(input: jax.Array) -> jax.Array:
    """The hyperbolic cosine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(cosh)(0.0):.4f}")
        0.0000

    Torch: `torch.cosh`.
    """
    return in_opmath(_cosh, array(input))


@derivative(lambda t, _, x: t * sinh(x))
def _cosh(x: jax.Array) -> jax.Array:
    return jnp.cosh(x)


def asinh(input: jax.Array) -> jax.Array:
    """The inverse hyperbolic sine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(asinh)(0.0):.4f}")
        1.0000

    Torch: `torch.asinh`.
    """
    return in_opmath(_asinh, array(input))


@derivative(lambda t, _, x: t * jax.lax.rsqrt(x * x + 1))
def _asinh(x: jax.Array) -> jax.Array:
    return jnp.arcsinh(x)


def acosh(input: jax.Array) -> jax.Array:
    """The inverse hyperbolic cosine.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(acosh)(2.0):.4f}")
        0.5774

    Torch: `torch.acosh`.
    """
    return in_opmath(_acosh, array(input))


@derivative(lambda t, _, x: t * jax.lax.rsqrt(x * x - 1))
def _acosh(x: jax.Array) -> jax.Array:
    return jnp.arccosh(x)


def atanh(input: jax.Array) -> jax.Array:
    """The inverse hyperbolic tangent.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(atanh)(0.0):.4f}")
        1.0000

    Torch: `torch.atanh`.
    """
    return in_opmath(_atanh, array(input))


@derivative(lambda t, _, x: t / (1 - x * x))
def _atanh(x: jax.Array) -> jax.Array:
    return jnp.arctanh(x)


def sqrt(input: jax.Array) -> jax.Array:
    """The square root.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(sqrt)(4.0):.4f}")
        0.2500

    Torch: `torch.sqrt`.
    """
    return in_opmath(_sqrt, array(input))


@derivative(lambda t, y, _: t / (2 * y))
def _sqrt(x: jax.Array) -> jax.Array:
    return jnp.sqrt(x)


def rsqrt(input: jax.Array) -> jax.Array:
    """One over the square root.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(rsqrt)(4.0):.4f}")
        -0.0625

    Torch: `torch.rsqrt`.

    Differs from jax in:
        1. At -0 the gradient is inf (`lax.rsqrt`: -inf).
    """
    return in_opmath(_rsqrt, array(input))


@derivative(lambda t, y, _: t * (-0.5 * (y * y * y)))
def _rsqrt(x: jax.Array) -> jax.Array:
    return 1 / jnp.sqrt(x)


def reciprocal(input: jax.Array) -> jax.Array:
    """One over the input.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(reciprocal)(2.0):.4f}")
        -0.2500

    Torch: `torch.reciprocal`.
    """
    return in_opmath(_reciprocal, array(input))


@derivative(lambda t, y, _: t * -(y * y))
def _reciprocal(x: jax.Array) -> jax.Array:
    return 1 / x


def square(input: jax.Array) -> jax.Array:
    """The input squared.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(square)(3.0):.4f}")
        6.0000

    Torch: `torch.square`.
    """
    input = array(input)
    return in_opmath(_square, input) if is_floating(input) else input * input


@derivative(lambda t, _, x: t * (2 * x))
def _square(x: jax.Array) -> jax.Array:
    return x * x
