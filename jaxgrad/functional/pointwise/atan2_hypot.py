"""The angle and the length of a vector (x, y), with torch's gradients at the origin."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def atan2(input: Array, other: Array) -> Array:
    """Return the angle of the point (other, input) in radians.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(atan2)(0.0, jnp.zeros(())), jax.grad(jnp.arctan2)(0.0, 0.0))
        0.0 nan

    Torch: `torch.atan2`.

    Differs from jax in:
        1. At (0, 0) the gradient is 0 (`jnp.arctan2`: NaN).
    """
    reject("atan2", "complex", input, other)
    return in_opmath(_atan2, array(input), array(other, "other"))


def _over_square(numerator: Array, x: Array, y: Array) -> Array:
    square = x * x + y * y
    return jnp.where(square == 0, 0, numerator / square)


@derivative(
    lambda t, _, y, x: t * _over_square(x, y, x), lambda t, _, y, x: t * _over_square(-y, y, x)
)
def _atan2(y: Array, x: Array) -> Array:
    return jnp.arctan2(y, x)


def hypot(input: Array, other: Array) -> Array:
    """Return `sqrt(input**2 + other**2)` without overflow.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(hypot(jnp.array(3.0), jnp.array(4.0)), jax.grad(hypot)(0.0, jnp.zeros(())))
        5.0 nan

    Torch: `torch.hypot`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At (0, 0) the gradient is NaN (`jnp.hypot` before JAX 0.12: 0.5); above 1e154 that of
           `jnp.hypot` was 1.06.
    """
    reject("hypot", "bool integer", input, other)
    return in_opmath(_hypot, array(input), array(other, "other"))


@derivative(lambda t, r, x, _: t * (x / r), lambda t, r, _, y: t * (y / r))
def _hypot(x: Array, y: Array) -> Array:
    return jnp.hypot(x, y)
