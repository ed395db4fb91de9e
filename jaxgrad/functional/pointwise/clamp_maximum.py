"""Clamp, minimum and maximum with torch's gradients at bounds, ties and NaN."""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, is_array, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def clamp(input: Array, min: ArrayLike | None = None, max: ArrayLike | None = None) -> Array:
    """Clamp the input to [min, max]; at a bound the input receives the full gradient.

    Args:
        input: Array of any shape.
        min: Lower bound, a number or an array that broadcasts with the input; None for no bound.
        max: Upper bound, likewise; it is the result where `min` exceeds it.

    Raises:
        RuntimeError: Both bounds are None.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp)(1.0, -1.0, 1.0), jax.grad(jnp.clip)(1.0, -1.0, 1.0))
        1.0 0.5

    Torch: `torch.clamp`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a bound the input's gradient is 1 and the bound's is 0 (`jnp.clip`: 0.5 each;
           `lax.clamp`: 0 for the input).
    """
    reject("clamp", "complex", input, min, max)
    input = array(input)
    if min is None:
        if max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        return clamp_max(input, max)
    if max is None:
        return clamp_min(input, min)
    reject("clamp", "bool", input, min, max)
    return _clamp(*together(input, min, max))


@derivative(
    lambda t, _, x, low, high: jnp.where((x >= low) & (x <= high), t, 0),
    lambda t, _, x, low, high: jnp.where((low < high) & (x < low), t, 0),
    lambda t, _, x, low, high: jnp.where((x > high) | (high < low), t, 0),
)
def _clamp(x: Array, low: Array, high: Array) -> Array:
    return jnp.minimum(jnp.maximum(x, low), high)


def clamp_min(input: Array, min: ArrayLike) -> Array:
    """Return the larger of the input and a lower bound; at a tie the input gets the gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_min)(0.0, 0.0), jax.grad(jnp.maximum)(0.0, 0.0))
        1.0 0.5

    Torch: `torch.clamp_min`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At the bound the input's gradient is 1 (`jnp.maximum`: 0.5).
    """
    reject("clamp_min", "complex", input, min)
    _reject_boolean("clamp_min", input, min)
    return clamp_min_kernel(*together(array(input), min))


@derivative(
    lambda t, _, x, low: jnp.where(x >= low, t, 0), lambda t, _, x, low: jnp.where(x < low, t, 0)
)
def clamp_min_kernel(x: Array, low: Array) -> Array:
    return jnp.maximum(x, low)


def clamp_max(input: Array, max: ArrayLike) -> Array:
    """Return the smaller of the input and an upper bound; at a tie the input gets the gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_max)(0.0, 0.0), jax.grad(jnp.minimum)(0.0, 0.0))
        1.0 0.5

    Torch: `torch.clamp_max`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At the bound the input's gradient is 1 (`jnp.minimum`: 0.5).
    """
    reject("clamp_max", "complex", input, max)
    _reject_boolean("clamp_max", input, max)
    return _clamp_max(*together(array(input), max))


@derivative(
    lambda t, _, x, high: jnp.where(x <= high, t, 0),
    lambda t, _, x, high: jnp.where(x > high, t, 0),
)
def _clamp_max(x: Array, high: Array) -> Array:
    return jnp.minimum(x, high)


def _reject_boolean(op: str, input: Array, bound: ArrayLike) -> None:
    """Reject booleans if the bound is a number: torch clamps them only by arrays."""
    if not is_array(bound):
        reject(op, "bool", input, bound)


def maximum(input: Array, other: Array) -> Array:
    """Return the elementwise maximum; a tie splits the gradient in half, NaN propagates.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(maximum)(1.0, jnp.ones(())))
        0.5

    Torch: `torch.maximum`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Where either input is NaN both gradients are 1 (`jnp.maximum`: 0).
    """
    reject("maximum", "complex", input, other)
    return _maximum(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x < y, 0, t)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x > y, 0, t)),
)
def _maximum(x: Array, y: Array) -> Array:
    return jnp.maximum(x, y)


def minimum(input: Array, other: Array) -> Array:
    """Return the elementwise minimum; a tie splits the gradient in half, NaN propagates.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(minimum)(1.0, jnp.ones(())))
        0.5

    Torch: `torch.minimum`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. Where either input is NaN both gradients are 1 (`jnp.minimum`: 0).
    """
    reject("minimum", "complex", input, other)
    return minimum_kernel(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x > y, 0, t)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where(x < y, 0, t)),
)
def minimum_kernel(x: Array, y: Array) -> Array:
    return jnp.minimum(x, y)


def fmax(input: Array, other: Array) -> Array:
    """Return the elementwise maximum, ignoring NaN; at a tie the first input gets the gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmax)(1.0, jnp.ones(())), jax.grad(jnp.fmax)(1.0, 1.0))
        1.0 0.0

    Torch: `torch.fmax`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a tie the first argument receives the gradient (`jnp.fmax`: the second).
    """
    reject("fmax", "complex", input, other)
    return _fmax(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), 0, t),
)
def _fmax(x: Array, y: Array) -> Array:
    return jnp.fmax(x, y)


def fmin(input: Array, other: Array) -> Array:
    """Return the elementwise minimum, ignoring NaN; at a tie the first input gets the gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmin)(1.0, jnp.ones(())), jax.grad(jnp.fmin)(1.0, 1.0))
        1.0 0.0

    Torch: `torch.fmin`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a tie the first argument receives the gradient (`jnp.fmin`: the second).
    """
    reject("fmin", "complex", input, other)
    return _fmin(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), 0, t),
)
def _fmin(x: Array, y: Array) -> Array:
    return jnp.fmin(x, y)


@derivative(lambda t, *_, **__: t)
def passing_floor(x: Array, *, eps: float) -> Array:
    """Return `maximum(x, eps)`, with the gradient of the identity."""
    return jnp.maximum(x, eps)
