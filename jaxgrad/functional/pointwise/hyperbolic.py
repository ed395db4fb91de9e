"""Hyperbolic functions with torch's derivative formulas, including second derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative


def sinh(input: jax.Array) -> jax.Array:
    """Return the hyperbolic sine of each element.

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
    """Return the hyperbolic cosine of each element.

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
    """Return the inverse hyperbolic sine of each element.

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
    """Return the inverse hyperbolic cosine of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(acosh)(2.0):.4f}")
        0.5774

    Torch: `torch.acosh`.
    """
    return in_opmath(_acosh, array(input))


def _acosh_slope(x: jax.Array) -> jax.Array:
    if jnp.iscomplexobj(x):  # the factors, because the root of their product has another branch
        return jax.lax.rsqrt(x + 1) * jax.lax.rsqrt(x - 1)
    return jax.lax.rsqrt(x * x - 1)


@derivative(lambda t, _, x: t * _acosh_slope(x))
def _acosh(x: jax.Array) -> jax.Array:
    return jnp.arccosh(x)


def atanh(input: jax.Array) -> jax.Array:
    """Return the inverse hyperbolic tangent of each element.

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
