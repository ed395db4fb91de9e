"""Rounding and remainders with torch's gradients at the jumps."""

from __future__ import annotations

import builtins
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, require, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def floor(input: Array) -> Array:
    """Round each element down to an integer, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(floor(jnp.array(1.5)))
        1.0

    Torch: `torch.floor`.
    """
    reject("floor", "bool complex", input)
    return _stepwise(jnp.floor, input)


def ceil(input: Array) -> Array:
    """Round each element up to an integer, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(ceil(jnp.array(1.5)))
        2.0

    Torch: `torch.ceil`.
    """
    reject("ceil", "bool complex", input)
    return _stepwise(jnp.ceil, input)


def trunc(input: Array) -> Array:
    """Round each element toward zero to an integer, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(trunc(jnp.array(-1.5)))
        -1.0

    Torch: `torch.trunc`.
    """
    reject("trunc", "bool complex", input)
    return _stepwise(jnp.trunc, input)


def round(input: Array, *, decimals: int = 0) -> Array:
    """Round each element to `decimals` decimal places, halves to even, with gradient 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(round(jnp.array(2.5)))
        2.0

    Torch: `torch.round`.
    """
    reject("round", "bool complex" if decimals == 0 else "bool integer complex", input)
    if decimals == 0 or not is_floating(array(input)):
        return _stepwise(jnp.round, input)
    scale = 10.0 ** builtins.abs(decimals)
    if decimals > 0:
        return in_opmath(lambda x: jnp.round(x * scale) / scale, array(input))
    return in_opmath(lambda x: jnp.round(x / scale) * scale, array(input))


def _stepwise(fun: Any, input: Any) -> Array:
    input = array(input)
    return fun(input) if is_floating(input) else input


def frac(input: Array) -> Array:
    """Return the fractional part of each element, with the element's sign and gradient 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print(frac(jnp.array(-1.5)))
        -0.5

    Torch: `torch.frac`.
    """
    reject("frac", "bool integer complex", input)
    return _frac(array(input))


@derivative(lambda t, *_: t)
def _frac(x: Array) -> Array:
    return x - jnp.trunc(x)


def fmod(input: Array, other: ArrayLike) -> Array:
    """Return the remainder of the division, with the sign of the dividend `input`.

    Raises:
        RuntimeError: A divisor of integers is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(fmod(jnp.array(-3.0), 2.0))
        -1.0

    Torch: `torch.fmod`.
    """
    reject("fmod", "bool", input, other)
    x, y = together(array(input), other)
    require_divisor(y)
    return _fmod(x, y)


def require_divisor(y: Array) -> None:
    """Raise torch's error if an integer divisor is 0; under `jit` the values are unknown."""
    if not is_floating(y):
        require(jnp.all(y != 0), RuntimeError("ZeroDivisionError: an integer divisor is 0"))


@derivative(lambda t, *_: t, lambda t, _, x, y: t * -jnp.trunc(x / y))
def _fmod(x: Array, y: Array) -> Array:
    return jnp.fmod(x, y)


def remainder(input: ArrayLike, other: ArrayLike) -> Array:
    """Return the remainder of the division, with the sign of the divisor `other`.

    Raises:
        RuntimeError: A divisor of integers is 0.

    Example:
        >>> import jax.numpy as jnp
        >>> print(remainder(jnp.array(-3.0), 2.0))
        1.0

    Torch: `torch.remainder`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The gradient with respect to `other` is NaN where `input` is infinite.
    """
    reject("remainder", "bool", input, other)
    x, y = together(input, other)
    require_divisor(y)
    return _remainder(x, y)


def floor_quotient(x: Array, y: Array) -> Array:
    """Divide and round down exactly as torch's kernel does, including at infinities."""
    mod = jnp.fmod(x, y)
    down = (mod != 0) & ((y < 0) != (mod < 0))
    quotient = (x - mod) / y - jnp.where(down, 1, 0)
    result = jnp.floor(quotient)
    result = jnp.where(quotient - result > 0.5, result + 1, result)
    result = jnp.where(quotient == 0, jnp.copysign(0, x / y), result)
    return jnp.where(y == 0, x / y, result)


@derivative(lambda t, *_: t, lambda t, _, x, y: t * -jax.lax.stop_gradient(floor_quotient(x, y)))
def _remainder(x: Array, y: Array) -> Array:
    return jnp.remainder(x, y)
