"""Arithmetic, error functions, logit and heaviside with torch's result types and gradients."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import ArrayLike
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating, together
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.pointwise.rounding_remainder import floor_quotient


def add(input: ArrayLike, other: ArrayLike, *, alpha: float = 1) -> jax.Array:
    """Return `input + alpha * other`.

    Raises:
        RuntimeError: `alpha` is a float and the result's dtype is not floating.

    Example:
        >>> import jax.numpy as jnp
        >>> print(add(jnp.array(1.0), 2.0, alpha=3))
        7.0

    Torch: `torch.add`.
    """
    x, y = together(input, other)
    _check_alpha(alpha, x)
    return x + (y if alpha == 1 else y * jnp.asarray(alpha, y.dtype))


def sub(input: ArrayLike, other: ArrayLike, *, alpha: float = 1) -> jax.Array:
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


def _check_alpha(alpha: float, x: jax.Array) -> None:
    if isinstance(alpha, float) and not is_floating(x):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number, but "
            f"alpha is {alpha} and the result is {x.dtype}"
        )


def mul(input: ArrayLike, other: ArrayLike) -> jax.Array:
    """Return `input * other`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mul(jnp.array(2.0), 3))
        6.0

    Torch: `torch.mul`.
    """
    x, y = together(input, other)
    return x * y


def div(input: ArrayLike, other: ArrayLike, *, rounding_mode: str | None = None) -> jax.Array:
    """Return `input / other`; a rounded quotient has gradient 0.

    Args:
        input: Dividend, of any shape.
        other: Divisor, of a shape that broadcasts with the dividend's.
        rounding_mode: None, `"trunc"` (toward zero) or `"floor"` (down).

    Raises:
        RuntimeError: `rounding_mode` is not None, `"trunc"` or `"floor"`.

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
        return (
            jnp.floor_divide(x, y) if rounding_mode == "floor" else jax.lax.div(*_broadcast(x, y))
        )
    if rounding_mode == "trunc":
        # XLA multiplies by the inverse of a broadcast divisor: -4.99..., which truncates to -4.
        return in_opmath(lambda *xs: jnp.trunc(jnp.divide(*_barrier(*xs))), x, y)
    return in_opmath(lambda *xs: jax.lax.stop_gradient(floor_quotient(*_barrier(*xs))), x, y)


def true_divide(input: ArrayLike, other: ArrayLike) -> jax.Array:
    """Return `input / other` without rounding; integers are divided as floats.

    Example:
        >>> import jax.numpy as jnp
        >>> print(true_divide(jnp.array(7), 2))
        3.5

    Torch: `torch.true_divide`.
    """
    return div(input, other)


def _barrier(x: jax.Array, y: jax.Array) -> Any:
    return jax.lax.optimization_barrier(tuple(_broadcast(x, y)))


def _broadcast(x: jax.Array, y: jax.Array) -> list[jax.Array]:
    return jnp.broadcast_arrays(x, y)


@derivative(lambda t, _, __, y: t / y, lambda t, _, x, y: t * -((x / y) / y))
def quotient(x: jax.Array, y: jax.Array) -> jax.Array:
    return x / y


def deg2rad(input: jax.Array) -> jax.Array:
    """Convert degrees to radians.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{deg2rad(jnp.array(180.0)):.4f}")
        3.1416

    Torch: `torch.deg2rad`.
    """
    reject("deg2rad", "complex", input)
    return in_opmath(lambda x: x * (math.pi / 180), array(input))


def rad2deg(input: jax.Array) -> jax.Array:
    """Convert radians to degrees.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{rad2deg(jnp.array(1.0)):.4f}")
        57.2958

    Torch: `torch.rad2deg`.
    """
    reject("rad2deg", "complex", input)
    return in_opmath(lambda x: x * (180 / math.pi), array(input))


def erf(input: jax.Array) -> jax.Array:
    """Return the error function of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erf)(0.0):.4f}")
        1.1284

    Torch: `torch.erf`.
    """
    return in_opmath(erf_kernel, array(input))


@derivative(lambda t, _, x: t * (2 / math.sqrt(math.pi) * jnp.exp(-(x * x))))
def erf_kernel(x: jax.Array) -> jax.Array:
    return jax.lax.erf(x)


def erfc(input: jax.Array) -> jax.Array:
    """Return 1 minus the error function of each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erfc)(0.0):.4f}")
        -1.1284

    Torch: `torch.erfc`.
    """
    return in_opmath(_erfc, array(input))


@derivative(lambda t, _, x: t * (-2 / math.sqrt(math.pi) * jnp.exp(-(x * x))))
def _erfc(x: jax.Array) -> jax.Array:
    return jax.lax.erfc(x)


def erfinv(input: jax.Array) -> jax.Array:
    """Return the inverse of the error function at each element.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(erfinv)(0.0):.4f}")
        0.8862

    Torch: `torch.erfinv`.
    """
    return in_opmath(_erfinv, array(input))


@derivative(lambda t, y, _: t * (0.5 * math.sqrt(math.pi) * jnp.exp(y * y)))
def _erfinv(x: jax.Array) -> jax.Array:
    return jax.lax.erf_inv(x)


def logit(input: jax.Array, eps: float | None = None) -> jax.Array:
    """Return `log(p / (1 - p))`, with p clipped to [eps, 1 - eps] if `eps` is given.

    Example:
        >>> import jax
        >>> print(f"{jax.grad(logit)(0.5):.4f}")
        4.0000

    Torch: `torch.logit`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Outside [0, 1] the gradient is NaN (`jax.scipy.special.logit`: finite).
        2. At eps and 1 - eps the gradient passes the clipping in full (`jnp.clip`: half of it).
    """
    reject("logit", "complex", input)
    return in_opmath(_logit, array(input), eps=eps)


def _logit_derivative(t: Any, _: Any, x: Any, eps: float | None) -> Any:
    low = 0.0 if eps is None else eps
    within = (x >= low) & (x <= 1 - low)
    factor = jnp.where(within, 1 / (x * (1 - x)), jnp.nan if eps is None else 0)
    return (t if eps is None else jnp.where(within, t, 0)) * factor


@derivative(_logit_derivative)
def _logit(x: jax.Array, *, eps: float | None) -> jax.Array:
    p = x if eps is None else jnp.clip(x, eps, 1 - eps)
    return jnp.log(p / (1 - p))


def heaviside(input: jax.Array, values: jax.Array) -> jax.Array:
    """Return 0 for negative elements, 1 for positive ones and `values` at 0, without a gradient.

    Raises:
        RuntimeError: The dtypes differ, or the function is differentiated.

    Example:
        >>> import jax.numpy as jnp
        >>> print(heaviside(jnp.array([-1.0, 0.0, 2.0]), jnp.array(0.5)))
        [0.  0.5 1. ]

    Torch: `torch.heaviside`.

    Differs from jax in:
        1. It raises if it is differentiated (`jnp.heaviside`: 0).
    """
    input, values = array(input), array(values, "values")
    require_same_dtype("heaviside", input=input, values=values)
    return _heaviside(input, values)


@derivative(not_differentiable("heaviside"), not_differentiable("heaviside"))
def _heaviside(x: jax.Array, values: jax.Array) -> jax.Array:
    return jnp.where(x == 0, values, (x > 0).astype(x.dtype))
