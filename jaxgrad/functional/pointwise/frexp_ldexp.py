"""Negation, powers in double precision, and arithmetic with binary exponents."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_array, is_complex, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.pow_sqrt import pow


class Frexp(NamedTuple):
    """The mantissa and exponent that `frexp` returns."""

    mantissa: jax.Array
    exponent: jax.Array


def neg(input: jax.Array) -> jax.Array:
    """Return the negated input.

    Raises:
        RuntimeError: The input is boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(neg(jnp.array([1.0, -2.0])))
        [-1.  2.]

    Torch: `torch.neg`. `jnp.negative` is the same.
    """
    input = array(input)
    if input.dtype == jnp.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. Use the `~` or "
            "`logical_not()` operator instead."
        )
    return -input


def logaddexp2(input: jax.Array, other: jax.Array) -> jax.Array:
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
def _logaddexp2(x: jax.Array, y: jax.Array) -> jax.Array:
    high = jnp.maximum(x, y)
    small = jnp.log1p(jnp.exp2(-jnp.abs(x - y))) / jnp.log(jnp.asarray(2, x.dtype))
    return jnp.where(jnp.isinf(x) & (x == y), x, high + small)


def float_power(input: ArrayLike, exponent: ArrayLike) -> jax.Array:
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


def ldexp(input: jax.Array, other: jax.Array, *, torch_gradient: bool = False) -> jax.Array:
    """Return `input * 2**other`.

    Args:
        input: Array of any shape.
        other: Exponents, integers or floats, of a shape that broadcasts with the input's.
        torch_gradient: Whether to use torch's gradient for negative integer exponents, which is 0
            because torch's formula computes an integer power of 2.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(ldexp)(3.0, jnp.array(-1)))
        0.5

    Torch: `torch.ldexp`.

    Differs from jax in:
        1. Float exponents are accepted and have a gradient (`jnp.ldexp`: integers only).
    """
    input, other = array(input), array(other, "other")
    if is_floating(input) and not is_complex(input):
        reject("ldexp", "bool", other)
    if is_floating(other):
        return in_opmath(_ldexp, input, other)
    return in_opmath(_ldexp, input, jax.lax.stop_gradient(other), integer=torch_gradient)


@derivative(lambda t, out, _: t * (out * math.log(2)))
def _power_of_two(y: jax.Array) -> jax.Array:
    return jnp.exp2(y)


def _ldexp_derivative(t: Any, _: Any, __: Any, y: Any, integer: bool = False) -> Any:
    return t * jnp.where(integer & (y < 0), 0, _power_of_two(y))


@derivative(_ldexp_derivative, lambda t, _, x, y, **__: t * (x * _power_of_two(y) * math.log(2)))
def _ldexp(x: jax.Array, y: jax.Array, *, integer: bool = False) -> jax.Array:
    del integer
    return x * jnp.exp2(y)


def frexp(input: jax.Array) -> Frexp:
    """Return the mantissa in [0.5, 1) and the binary exponent; only the mantissa has a gradient.

    Raises:
        RuntimeError: The input's dtype is not floating.

    Example:
        >>> import jax.numpy as jnp
        >>> print(frexp(jnp.array([3.0])).mantissa, frexp(jnp.array([3.0])).exponent)
        [0.75] [2]

    Torch: `torch.frexp`.
    """
    input = array(input)
    if not is_floating(input):
        raise RuntimeError(
            f"torch.frexp() only supports floating-point dtypes, not {input.dtype}; cast it"
        )
    return Frexp(*in_opmath(_frexp, input))


def _frexp_derivative(t: Any, out: Any, *_: Any) -> Any:
    return t / jnp.exp2(out[1].astype(t.dtype)), None


@derivative(_frexp_derivative)
def _frexp(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.frexp(x)
