"""Trigonometric functions with torch's derivative formulas, including second derivatives."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def sin(input: jax.Array) -> jax.Array:
    """Return the sine of each element.

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
    """Return the cosine of each element.

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
    """Return the tangent of each element.

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
    """Return the inverse sine of each element.

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
    """Return the inverse cosine of each element.

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
    """Return the inverse tangent of each element.

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


def deg2rad(input: jax.Array) -> jax.Array:
    """Convert degrees to radians.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{deg2rad(jnp.array(180.0)):.4f}")
        3.1416

    Torch: `torch.deg2rad`.
    """
    reject("deg2rad", "complex", input)
    return in_opmath(lambda x: x * (math.pi / 180), array(input))


def rad2deg(input: jax.Array) -> jax.Array:
    """Convert radians to degrees.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{rad2deg(jnp.array(1.0)):.4f}")
        57.2958

    Torch: `torch.rad2deg`.
    """
    reject("rad2deg", "complex", input)
    return in_opmath(lambda x: x * (180 / math.pi), array(input))


def sinc(input: jax.Array, *, torch_gradient: bool = False) -> jax.Array:
    """Return `sin(pi x) / (pi x)`, which is 1 at 0.

    Args:
        input: Array of any shape.
        torch_gradient: Whether to use torch's formula, which loses digits near 0 (at 1e-8 it is
            off by a third) and whose second derivative at 0 is 0 instead of -pi^2 / 3.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(jax.grad(sinc))(0.0):.4f}")
        -3.2899

    Torch: `torch.sinc`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is accurate where x * x underflows (`jnp.sinc`: -inf).
    """
    return in_opmath(_sinc, array(input), cancels=torch_gradient)


_SERIES = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 9)]


def _sinc_derivative(t: Any, _: Any, x: Any, cancels: bool) -> Any:
    pi = math.pi
    z, square = x * pi, x * x * pi
    if cancels:
        slope = jnp.where(square == 0, 0, (z * jnp.cos(z) - jnp.sin(z)) / square)
        return jnp.where(square == 0, 0, t) * slope
    near = jnp.abs(z) < 0.5
    far, small = jnp.where(near, 1, z), jnp.where(near, z, 0)
    slope = jnp.polyval(jnp.asarray(_SERIES[::-1], x.dtype), small * small) * small
    return t * (pi * jnp.where(near, slope, (jnp.cos(far) - jnp.sin(far) / far) / far))


@derivative(_sinc_derivative)
def _sinc(x: jax.Array, *, cancels: bool) -> jax.Array:
    del cancels
    z = x * math.pi
    return jnp.where(x == 0, 1, jnp.sin(z) / jnp.where(x == 0, 1, z))
