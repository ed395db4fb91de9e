"""Squares, roots and reciprocals with torch's derivative formulas, also for second derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, exact, in_opmath
from jaxgrad.functional._core.derivative import derivative


def sqrt(input: jax.Array) -> jax.Array:
    """Return the square root of each element.

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
    """Return the reciprocal of the square root of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(rsqrt)(4.0):.4f}")
        -0.0625

    Torch: `torch.rsqrt`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At -0 the gradient is inf (`lax.rsqrt`: -inf).
    """
    return in_opmath(_rsqrt, array(input))


@derivative(lambda t, y, _: t * (-0.5 * (y * y * y)))
def _rsqrt(x: jax.Array) -> jax.Array:
    return 1 / jnp.sqrt(x)


def reciprocal(input: jax.Array) -> jax.Array:
    """Return the reciprocal of each element.

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
    """Return the square of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(square)(3.0):.4f}")
        6.0000

    Torch: `torch.square`.
    """
    input = array(input)
    return exact(_square, input.astype(int) if input.dtype == jnp.bool_ else input)


@derivative(lambda t, _, x: t * (2 * x))
def _square(x: jax.Array) -> jax.Array:
    return x * x
