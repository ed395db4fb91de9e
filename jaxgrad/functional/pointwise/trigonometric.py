"""Trigonometric functions with torch's derivative formulas, also for second derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative


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
