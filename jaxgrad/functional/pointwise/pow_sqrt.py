"""Powers, roots, squares and reciprocals with torch's gradients at zero."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import (
    array,
    exact,
    in_opmath,
    is_array,
    is_complex,
    is_floating,
    together,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def pow(input: ArrayLike, exponent: ArrayLike) -> Array:
    """Return `input` to the power of `exponent`; at least one of them is an array.

    Raises:
        RuntimeError: An integer array is raised to a negative number.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(pow)(0.0, jnp.array(0.0)), jax.grad(jnp.power)(0.0, 0.0))
        0.0 nan

    Torch: `torch.pow`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The base's gradient at exponent 0 is 0 (`jnp.power`: NaN where the base is 0).
        2. The exponent's gradient at base 0 is -inf for negative exponents (`jnp.power`: NaN).
        3. An exponent of 0.5 computes the square root, whose gradient at -0 is -inf.
    """
    reject("pow", "bool", input, exponent)
    if isinstance(exponent, bool | int | float) and not isinstance(input, int | float):
        base = together(input, exponent)[0]
        if not is_floating(base):
            if exponent < 0:
                raise RuntimeError("Integers to negative integer powers are not allowed.")
            return jnp.power(base, int(exponent))
        return in_opmath(lambda x: _power(x, exponent=exponent), base)
    base, exponent = together(input, exponent)
    if not is_floating(base):
        return _integer_power(base, exponent)
    return in_opmath(_pow, base, exponent)


def _integer_power(x: Array, y: Array) -> Array:
    """Truncate `1 / x**-y` toward zero for a negative exponent, as torch does; base 0 gives 0."""
    inverse = jnp.where(jnp.abs(x) == 1, jnp.where(y % 2 == 0, 1, x), 0).astype(x.dtype)
    return jnp.where(y < 0, inverse, jnp.power(x, jnp.maximum(y, 0)))


def _power_derivative(t: Any, _: Any, x: Any, exponent: float) -> Any:
    if exponent == 0:
        return jnp.zeros_like(t)
    return t * (exponent * _power(x, exponent=exponent - 1))


@derivative(_power_derivative)
def _power(x: Array, *, exponent: float) -> Array:
    if exponent in (0.5, -0.5):
        root = jnp.sqrt(x)
        return root if exponent > 0 else 1 / root
    if exponent in (2, 3):
        return x * x if exponent == 2 else x * x * x
    if exponent in (-1, -2):
        return 1 / x if exponent == -1 else 1 / (x * x)
    return jnp.power(x, jnp.asarray(exponent, x.dtype))


def _exponent_derivative(t: Any, out: Any, x: Any, y: Any) -> Any:
    # The tangent is not masked, because torch's second derivative is NaN there.
    return t * jnp.where((x == 0) & (y >= 0), 0, out * jnp.log(x))


def _base_derivative(t: Any, _: Any, x: Any, y: Any) -> Any:
    # The tangent is masked too: at exponent 0 it may be NaN in a second derivative.
    return jnp.where(y == 0, 0, t) * jnp.where(y == 0, 0, y * _pow(x, y - 1))


@derivative(_base_derivative, _exponent_derivative)
def _pow(x: Array, y: Array) -> Array:
    return jnp.power(x, y)


def float_power(input: ArrayLike, exponent: ArrayLike) -> Array:
    """Return a power computed in double precision, or in single if JAX's 64-bit types are off.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(float_power(jnp.array([2, 3]), 2))
        [4. 9.]

    Torch: `torch.float_power`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient is that of `pow` (`jnp.float_power`: NaN at exponent 0 and base 0).
    """
    args = (input, exponent)
    complex_in = any(is_complex(x) if is_array(x) else isinstance(x, complex) for x in args)
    dtype = jax.dtypes.canonicalize_dtype(jnp.complex128 if complex_in else jnp.float64)
    return pow(*(jnp.asarray(x, dtype) if is_array(x) else x for x in args))


def sqrt(input: Array) -> Array:
    """Return the square root of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(sqrt)(4.0):.4f}")
        0.2500

    Torch: `torch.sqrt`.
    """
    return in_opmath(_sqrt, array(input))


@derivative(lambda t, y, _: t / (2 * y))
def _sqrt(x: Array) -> Array:
    return jnp.sqrt(x)


def rsqrt(input: Array) -> Array:
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
def _rsqrt(x: Array) -> Array:
    return 1 / jnp.sqrt(x)


def reciprocal(input: Array) -> Array:
    """Return the reciprocal of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(reciprocal)(2.0):.4f}")
        -0.2500

    Torch: `torch.reciprocal`.
    """
    return in_opmath(_reciprocal, array(input))


@derivative(lambda t, y, _: t * -(y * y))
def _reciprocal(x: Array) -> Array:
    return 1 / x


def square(input: Array) -> Array:
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
def _square(x: Array) -> Array:
    return x * x
