"""Mantissas and binary exponents with torch's gradients."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST, POWER_OF_LDEXP
from jaxgrad.functional._core.arguments import array, in_opmath, is_complex, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


class Frexp(NamedTuple):
    """The mantissa and exponent that `frexp` returns."""

    mantissa: jax.Array
    exponent: jax.Array


def ldexp(
    input: jax.Array, other: jax.Array, *, torch_gradient: bool = False, torch: str = NEWEST
) -> jax.Array:
    """Return `input * 2**other`.

    Args:
        input: Array of any shape.
        other: Exponents, integers or floats, of a shape that broadcasts with the input's.
        torch_gradient: Whether to use torch's gradient for negative integer exponents. Before
            torch 2.14 it was 0, because torch's formula computed an integer power of 2.
        torch: Version to which `torch_gradient` refers.

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
    integer = torch_gradient and not POWER_OF_LDEXP.holds(torch)
    return in_opmath(_ldexp, input, jax.lax.stop_gradient(other), integer=integer)


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


@derivative(lambda t, out, *_: (t / jnp.exp2(out[1].astype(t.dtype)), None))
def _frexp(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.frexp(x)
