"""Arithmetic with torch's result types and gradients."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_complex, is_floating, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.rounding_remainder import floor_quotient, require_divisor


def add(input: ArrayLike, other: ArrayLike, *, alpha: float = 1) -> Array:
    """Return `input + alpha * other`.

    Raises:
        RuntimeError: `alpha` is a float and the result's dtype is not floating, or complex and the
            result is real.

    Example:
        >>> import jax.numpy as jnp
        >>> print(add(jnp.array(1.0), 2.0, alpha=3))
        7.0

    Torch: `torch.add`.
    """
    x, y = together(input, other)
    _check_alpha(alpha, x)
    return x + (y if alpha == 1 else y * jnp.asarray(alpha, y.dtype))


def sub(input: ArrayLike, other: ArrayLike, *, alpha: float = 1) -> Array:
    """Return `input - alpha * other`.

    Raises:
        RuntimeError: An operand is boolean, or `alpha` is a float and the result's dtype is not
            floating.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sub(jnp.array(1.0), 2.0, alpha=3))
        -5.0

    Torch: `torch.sub`.
    """
    x, y = together(input, other)
    _check_alpha(alpha, x)
    if x.dtype == jnp.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    if any(jnp.result_type(value) == jnp.bool_ for value in (input, other)):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
            "to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return x - (y if alpha == 1 else y * jnp.asarray(alpha, y.dtype))


def _check_alpha(alpha: float, x: Array) -> None:
    if isinstance(alpha, complex) and not is_complex(x):
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number, but alpha "
            f"is {alpha} and the result is {x.dtype}"
        )
    if isinstance(alpha, float) and not is_floating(x):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number, but "
            f"alpha is {alpha} and the result is {x.dtype}"
        )


def mul(input: ArrayLike, other: ArrayLike) -> Array:
    """Return `input * other`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mul(jnp.array(2.0), 3))
        6.0

    Torch: `torch.mul`.
    """
    x, y = together(input, other)
    return x * y


def div(input: ArrayLike, other: ArrayLike, *, rounding_mode: str | None = None) -> Array:
    """Return `input / other`; a rounded quotient has gradient 0.

    Args:
        input: Dividend, of any shape.
        other: Divisor, of a shape that broadcasts with the dividend's.
        rounding_mode: None, `"trunc"` (toward zero) or `"floor"` (down).

    Raises:
        RuntimeError: `rounding_mode` is not None, `"trunc"` or `"floor"`, or a rounded quotient
            of integers has the divisor 0 (under `jit` this is not checked).

    Example:
        >>> import jax.numpy as jnp
        >>> print(div(jnp.array(-7.0), 2.0, rounding_mode="trunc"))
        -3.0

    Torch: `torch.div`. Gradient conventions: docs/operators.md.
    """
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    if rounding_mode is None:
        return in_opmath(quotient, input, other)
    reject(f"div of rounding_mode '{rounding_mode}'", "bool complex", input, other)
    x, y = together(input, other)
    if not is_floating(x):
        require_divisor(y)
        return (
            jnp.floor_divide(x, y) if rounding_mode == "floor" else jax.lax.div(*_broadcast(x, y))
        )
    if rounding_mode == "trunc":
        # XLA multiplies by the inverse of a broadcast divisor: -4.99..., which truncates to -4.
        return in_opmath(lambda *xs: jnp.trunc(jnp.divide(*_barrier(*xs))), x, y)
    return in_opmath(lambda *xs: jax.lax.stop_gradient(floor_quotient(*_barrier(*xs))), x, y)


def true_divide(input: ArrayLike, other: ArrayLike) -> Array:
    """Return `input / other` without rounding; integers are divided as floats.

    Example:
        >>> import jax.numpy as jnp
        >>> print(true_divide(jnp.array(7), 2))
        3.5

    Torch: `torch.true_divide`.
    """
    return div(input, other)


def _barrier(x: Array, y: Array) -> Any:
    return jax.lax.optimization_barrier(tuple(_broadcast(x, y)))


def _broadcast(x: Array, y: Array) -> list[Array]:
    return jnp.broadcast_arrays(x, y)


@derivative(lambda t, _, __, y: t / y, lambda t, _, x, y: t * -((x / y) / y))
def quotient(x: Array, y: Array) -> Array:
    return x / y


def neg(input: Array) -> Array:
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


def positive(input: Array) -> Array:
    """Return the input, as the operator `+x` does.

    Raises:
        RuntimeError: The input is boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(positive(jnp.array([1.0, -2.0])))
        [ 1. -2.]

    Torch: `torch.positive`. `jnp.positive` is the same.
    """
    input = array(input)
    if input.dtype == jnp.bool_:
        raise RuntimeError(
            "The `+` operator, on a bool tensor is not supported; convert the input to integers."
        )
    return input
