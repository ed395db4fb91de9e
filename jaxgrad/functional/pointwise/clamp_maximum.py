"""Clamp, minimum and maximum with torch's gradients at bounds, ties and NaN.

The kernels of `clamp` have the gradients of torch since 2.14; those of older versions are in
`full_*`, where the input gets the full gradient at a bound.
"""

from __future__ import annotations

import jax.numpy as jnp

from jaxgrad._core.torch_versions import BOUND_OF_CLAMP, NEWEST, TIES_OF_FMAX
from jaxgrad._core.typing import Array, ArrayLike
from jaxgrad.functional._core.arguments import array, is_array, together
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def clamp(
    input: Array,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    torch: str = NEWEST,
) -> Array:
    """Clamp the input to [min, max]; at a bound that is a number the gradient is 0.

    Args:
        input: Array of any shape.
        min: Lower bound, a number or an array that broadcasts with the input; None for no bound.
        max: Upper bound, likewise; it is the result where `min` exceeds it.
        torch: Version whose gradient is computed. Before torch 2.14 the gradient at a bound
            was 1.

    Raises:
        RuntimeError: Both bounds are None.
        ValueError: `torch` is not a version that jaxgrad knows.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp)(1.0, -1.0, 1.0), jax.grad(jnp.clip)(1.0, -1.0, 1.0))
        0.0 0.5
        >>> print(jax.grad(lambda x: clamp(x, -1.0, 1.0, torch="2.13"))(1.0))
        1.0

    Torch: `torch.clamp`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a bound the input's gradient is 0 if the bound is a number, and if it is an array
           each of the two gets 0.5 (`jnp.clip`: 0.5; `lax.clamp`: 0). Before torch 2.14 the
           input's gradient was 1 and the bound's 0.
        2. NaN passes the gradient to the input if a bound is an array (`jnp.clip`: 0).
    """
    reject("clamp", "complex", input, min, max)
    input = array(input)
    if min is None:
        if max is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        return clamp_max(input, max, torch=torch)
    if max is None:
        return clamp_min(input, min, torch=torch)
    reject("clamp", "bool", input, min, max)
    between = _clamp if _is_number(min) and _is_number(max) else _clamp_by_arrays
    kernel = between if BOUND_OF_CLAMP.holds(torch) else _full_clamp
    return kernel(*together(input, min, max))


def _is_number(bound: ArrayLike) -> bool:
    """Return whether a bound is a number for torch, which `jit` turns into a weakly typed array."""
    return not is_array(bound) or (jnp.ndim(bound) == 0 and getattr(bound, "weak_type", False))


@derivative(lambda t, _, x, low, high: jnp.where((x > low) & (x < high), t, 0), None, None)
def _clamp(x: Array, low: Array, high: Array) -> Array:
    return jnp.minimum(jnp.maximum(x, low), high)


def _is_tied(x: Array, bound: Array, low: Array, high: Array) -> Array:
    return (x == bound) & (low < high)


@derivative(
    lambda t, _, x, low, high: jnp.where(
        _is_tied(x, low, low, high) | _is_tied(x, high, low, high),
        t / 2,
        jnp.where((x < low) | (x > high), 0, t),
    ),
    lambda t, _, x, low, high: jnp.where(
        _is_tied(x, low, low, high), t / 2, jnp.where((x < low) & (low <= high), t, 0)
    ),
    lambda t, _, x, low, high: jnp.where(
        _is_tied(x, high, low, high),
        t / 2,
        jnp.where(((x > high) & (low <= high)) | (high < low), t, 0),
    ),
)
def _clamp_by_arrays(x: Array, low: Array, high: Array) -> Array:
    return jnp.minimum(jnp.maximum(x, low), high)


@derivative(
    lambda t, _, x, low, high: jnp.where((x >= low) & (x <= high), t, 0),
    lambda t, _, x, low, high: jnp.where((low < high) & (x < low), t, 0),
    lambda t, _, x, low, high: jnp.where((x > high) | (high < low), t, 0),
)
def _full_clamp(x: Array, low: Array, high: Array) -> Array:
    return jnp.minimum(jnp.maximum(x, low), high)


def clamp_min(input: Array, min: ArrayLike, *, torch: str = NEWEST) -> Array:
    """Return the larger of the input and a lower bound; at a number the gradient is 0.

    Args:
        input: Array of any shape.
        min: Lower bound, a number or an array that broadcasts with the input.
        torch: Version whose gradient is computed. Before torch 2.14 the gradient at the bound
            was 1.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_min)(0.0, 0.0), jax.grad(jnp.maximum)(0.0, 0.0))
        0.0 0.5

    Torch: `torch.clamp_min`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a bound that is a number the input's gradient is 0 (`jnp.maximum`: 0.5).
    """
    reject("clamp_min", "complex", input, min)
    _reject_boolean("clamp_min", input, min)
    x, low = together(array(input), min)
    if BOUND_OF_CLAMP.holds(torch) and not _is_number(min):
        return _maximum(x, low)
    return hinge(x, low, torch)


def hinge(x: Array, low: ArrayLike, torch: str) -> Array:
    """Return `clamp_min` of a floating array and a bound that is a number for torch."""
    kernel = _clamp_min if BOUND_OF_CLAMP.holds(torch) else _full_clamp_min
    return kernel(x, jnp.asarray(low, x.dtype))


@derivative(lambda t, _, x, low: jnp.where(x > low, t, 0), None)
def _clamp_min(x: Array, low: Array) -> Array:
    return jnp.maximum(x, low)


@derivative(
    lambda t, _, x, low: jnp.where(x >= low, t, 0), lambda t, _, x, low: jnp.where(x < low, t, 0)
)
def _full_clamp_min(x: Array, low: Array) -> Array:
    return jnp.maximum(x, low)


def clamp_max(input: Array, max: ArrayLike, *, torch: str = NEWEST) -> Array:
    """Return the smaller of the input and an upper bound; at a number the gradient is 0.

    Args:
        input: Array of any shape.
        max: Upper bound, a number or an array that broadcasts with the input.
        torch: Version whose gradient is computed. Before torch 2.14 the gradient at the bound
            was 1.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(clamp_max)(0.0, 0.0), jax.grad(jnp.minimum)(0.0, 0.0))
        0.0 0.5

    Torch: `torch.clamp_max`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a bound that is a number the input's gradient is 0 (`jnp.minimum`: 0.5).
    """
    reject("clamp_max", "complex", input, max)
    _reject_boolean("clamp_max", input, max)
    x, high = together(array(input), max)
    if not BOUND_OF_CLAMP.holds(torch):
        return _full_clamp_max(x, high)
    return _clamp_max(x, high) if _is_number(max) else minimum_kernel(x, high)


@derivative(lambda t, _, x, high: jnp.where(x < high, t, 0), None)
def _clamp_max(x: Array, high: Array) -> Array:
    return jnp.minimum(x, high)


@derivative(
    lambda t, _, x, high: jnp.where(x <= high, t, 0),
    lambda t, _, x, high: jnp.where(x > high, t, 0),
)
def _full_clamp_max(x: Array, high: Array) -> Array:
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


def fmax(input: Array, other: Array, *, torch: str = NEWEST) -> Array:
    """Return the elementwise maximum, ignoring NaN; a tie splits the gradient in half.

    Args:
        input: Array of any shape.
        other: Array that broadcasts with the input.
        torch: Version whose gradient is computed. Before torch 2.14 the first of two equal
            numbers received the whole gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmax)(1.0, jnp.ones(())), jax.grad(jnp.fmax)(1.0, 1.0))
        0.5 0.0

    Torch: `torch.fmax`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a tie both arguments receive half of the gradient (`jnp.fmax`: the second receives
           it whole).
    """
    reject("fmax", "complex", input, other)
    kernel = _fmax if TIES_OF_FMAX.holds(torch) else _first_fmax
    return kernel(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where((x > y) | jnp.isnan(y), t, 0)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where((x > y) | jnp.isnan(y), 0, t)),
)
def _fmax(x: Array, y: Array) -> Array:
    return jnp.fmax(x, y)


@derivative(
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x >= y) | jnp.isnan(y), 0, t),
)
def _first_fmax(x: Array, y: Array) -> Array:
    return jnp.fmax(x, y)


def fmin(input: Array, other: Array, *, torch: str = NEWEST) -> Array:
    """Return the elementwise minimum, ignoring NaN; a tie splits the gradient in half.

    Args:
        input: Array of any shape.
        other: Array that broadcasts with the input.
        torch: Version whose gradient is computed. Before torch 2.14 the first of two equal
            numbers received the whole gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(fmin)(1.0, jnp.ones(())), jax.grad(jnp.fmin)(1.0, 1.0))
        0.5 0.0

    Torch: `torch.fmin`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a tie both arguments receive half of the gradient (`jnp.fmin`: the second receives
           it whole).
    """
    reject("fmin", "complex", input, other)
    kernel = _fmin if TIES_OF_FMAX.holds(torch) else _first_fmin
    return kernel(*together(array(input), array(other, "other")))


@derivative(
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where((x < y) | jnp.isnan(y), t, 0)),
    lambda t, _, x, y: jnp.where(x == y, t / 2, jnp.where((x < y) | jnp.isnan(y), 0, t)),
)
def _fmin(x: Array, y: Array) -> Array:
    return jnp.fmin(x, y)


@derivative(
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), t, 0),
    lambda t, _, x, y: jnp.where((x <= y) | jnp.isnan(y), 0, t),
)
def _first_fmin(x: Array, y: Array) -> Array:
    return jnp.fmin(x, y)


@derivative(lambda t, *_, **__: t)
def passing_floor(x: Array, *, eps: float) -> Array:
    """Return `maximum(x, eps)`, with the gradient of the identity."""
    return jnp.maximum(x, eps)


# A change of torch, and kernels with equal values that have the gradients since it and before it.
KERNELS = (
    (BOUND_OF_CLAMP, _clamp, _full_clamp),
    (BOUND_OF_CLAMP, _clamp_by_arrays, _full_clamp),
    (BOUND_OF_CLAMP, _clamp_min, _full_clamp_min),
    (BOUND_OF_CLAMP, _clamp_max, _full_clamp_max),
    (TIES_OF_FMAX, _fmax, _first_fmax),
    (TIES_OF_FMAX, _fmin, _first_fmin),
)
