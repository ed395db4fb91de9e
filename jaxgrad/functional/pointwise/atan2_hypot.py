"""Functions whose formula is undefined somewhere (0/0, 0 log 0, inf - inf), as in torch."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def atan2(input: jax.Array, other: jax.Array) -> jax.Array:
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


def _over_square(numerator: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    square = x * x + y * y
    return jnp.where(square == 0, 0, numerator * (1 / square))


@derivative(
    lambda t, _, y, x: t * _over_square(x, y, x),
    lambda t, _, y, x: t * _over_square(-y, y, x),
)
def _atan2(y: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.arctan2(y, x)


def hypot(input: jax.Array, other: jax.Array) -> jax.Array:
    """Return `sqrt(input**2 + other**2)` without overflow.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(hypot)(0.0, jnp.zeros(())), jax.grad(jnp.hypot)(0.0, 0.0))
        nan 0.5

    Torch: `torch.hypot`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At (0, 0) the gradient is NaN (`jnp.hypot`: 0.5); above 1e154 that of `jnp.hypot` is
           1.06.
    """
    reject("hypot", "bool integer", input, other)
    return in_opmath(_hypot, array(input), array(other, "other"))


@derivative(lambda t, r, x, _: t * (x / r), lambda t, r, _, y: t * (y / r))
def _hypot(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.hypot(x, y)


def xlogy(input: ArrayLike, other: ArrayLike) -> jax.Array:
    """Return `input * log(other)`, or 0 where `input` is 0 and `other` is not NaN.

    Example:
        >>> import jax
        >>> print(jax.grad(xlogy)(0.0, 0.0), jax.grad(jax.scipy.special.xlogy)(0.0, 0.0))
        0.0 -inf

    Torch: `torch.xlogy`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At input 0 and other <= 0 the gradient is 0 (`jax.scipy.special.xlogy`: -inf, NaN).
    """
    reject("xlogy", "complex", input, other)
    return in_opmath(xlogy_kernel, input, other)


def _xlogy_input_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    masked = (x == 0) & (y <= 0)
    each = jnp.broadcast_to(y, masked.shape)  # one per element: inf and -inf sum to NaN
    return jnp.where(masked, 0, t) * jnp.where(masked, 0, jnp.log(each))


@derivative(_xlogy_input_derivative, lambda t, _, x, y: t * (x / y))
def xlogy_kernel(x: jax.Array, y: jax.Array) -> jax.Array:
    product = x * jnp.log(y)
    return jnp.where((x == 0) & ~jnp.isnan(y), 0, product)


def logaddexp(input: jax.Array, other: jax.Array) -> jax.Array:
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
def _logaddexp(x: jax.Array, y: jax.Array) -> jax.Array:
    high = jnp.maximum(x, y)
    return jnp.where(jnp.isinf(x) & (x == y), x, high + jnp.log1p(jnp.exp(-jnp.abs(x - y))))


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
