"""Cumulative sums and products, differences and integrals, with torch's gradients at 0 and inf."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, DTypeLike
from jaxgrad.functional._core.arguments import (
    array,
    broadcasting,
    canonical_dim,
    exact,
    floating,
    in_opmath,
    is_floating,
    promoted,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.reduction.sum_mean_prod import widened


def cumsum(input: Array, dim: int, *, dtype: DTypeLike | None = None) -> Array:
    """Return the cumulative sum along a dim; integers are summed as int64.

    Raises:
        NotImplementedError: `dtype` is bool.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cumsum(jnp.array([1.0, 2.0, 3.0]), 0))
        [1. 3. 6.]

    Torch: `torch.cumsum`.
    """
    input = widened(input, dtype)
    axis = canonical_dim(dim, input.ndim)
    if not input.ndim:
        return input
    reject("cumsum", "bool", input)
    return exact(lambda x: jnp.cumsum(x, axis), input)


def cumprod(input: Array, dim: int, *, dtype: DTypeLike | None = None) -> Array:
    """Return the cumulative product along a dim; integers are multiplied as int64.

    Raises:
        NotImplementedError: `dtype` is bool.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cumprod(jnp.array([1.0, 2.0, 3.0]), 0))
        [1. 2. 6.]

    Torch: `torch.cumprod`. Gradient conventions: docs/operators.md.
    """
    input = widened(input, dtype)
    axis = canonical_dim(dim, input.ndim)
    if input.ndim:
        reject("cumprod", "bool", input)
    if not input.ndim or input.shape[axis] == 1:
        return input  # torch also passes the cotangent on unchanged here
    return exact(lambda x: _cumprod(x, axis=axis), input)


def _cumprod_derivative(t: Any, out: Any, x: Any, axis: int) -> Any:
    """Divide the product by each factor, but avoid the division if any element is 0."""
    zero = jnp.any(x == 0)
    terms = jnp.cumsum(t / jnp.where(zero, 1, x), axis)
    direct = jax.jvp(
        lambda x: jnp.cumprod(x, axis), (jnp.where(zero, x, 1),), (jnp.where(zero, t, 0),)
    )[1]
    return jnp.where(zero, 0, out) * terms + direct


@derivative(_cumprod_derivative)
def _cumprod(x: Array, *, axis: int) -> Array:
    return jnp.cumprod(x, axis)


def logcumsumexp(input: Array, dim: int) -> Array:
    """Return the logarithm of the cumulative sum of exponentials along a dim.

    Raises:
        NotImplementedError: The dtype is integer or boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(logcumsumexp(jnp.zeros(2), 0).round(4))
        [0.     0.6931]

    Torch: `torch.logcumsumexp`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At an infinity the gradient is NaN, and elsewhere it is as if the infinity were absent
           (`lax.cumlogsumexp`: above the sum of cotangents at +inf, a number at -inf).
    """
    input = array(input)
    if not is_floating(input):
        raise NotImplementedError(
            f'"logcumsumexp_out_cpu" not implemented for {input.dtype}; cast it to a float'
        )
    axis = canonical_dim(dim, input.ndim)
    return input if not input.ndim else in_opmath(_logcumsumexp, input, axis=axis)


def _logcumsumexp_derivative(t: Any, out: Any, x: Any, axis: int) -> Any:
    # Output tangents obey a linear recurrence: the weighted previous one plus the element's own.
    before = jnp.roll(out, 1, axis)
    first = jnp.arange(out.shape[axis]).reshape(-1, *[1] * (out.ndim - axis - 1)) == 0
    kept = jnp.where(first, 0, jnp.exp(jnp.where(first | (before == out), 0, before - out)))

    def after(left: Any, right: Any) -> Any:
        return left[0] * right[0], jnp.where(right[0] == 0, 0, left[1]) * right[0] + right[1]

    return jax.lax.associative_scan(after, (kept, t * jnp.exp(x - out)), axis=axis)[1]


@derivative(_logcumsumexp_derivative)
def _logcumsumexp(x: Array, *, axis: int) -> Array:
    return jax.lax.cumlogsumexp(x, axis)


def diff(
    input: Array,
    n: int = 1,
    dim: int = -1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the n-th differences of neighbouring elements along a dim.

    Raises:
        RuntimeError: The input is a 0-d array, `n` is negative, or `prepend` or `append` has
            a different number of dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(diff(jnp.array([1.0, 4.0, 9.0])))
        [3. 5.]

    Torch: `torch.diff`.
    """
    input = array(input)
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    parts = [x for x in (prepend, input, append) if x is not None]
    if len({x.ndim for x in parts}) > 1:
        raise RuntimeError(
            "diff expects prepend or append to be the same dimension as input: they have "
            f"{[x.ndim for x in parts]} dims"
        )
    axis = canonical_dim(dim, input.ndim)
    if not n:
        return input
    x = jnp.concatenate(promoted(*parts), axis)
    return jnp.diff(x, min(n, x.shape[axis]), axis)


def trapezoid(y: Array, x: Array | None = None, *, dx: float = 1, dim: int = -1) -> Array:
    """Return the integral along a dim by the trapezoidal rule.

    Args:
        y: Values, of any shape with at least one dim.
        x: Sample points, `(n,)` or of a shape that broadcasts with `y`; None if equally spaced.
        dx: Distance between sample points if `x` is None.
        dim: Dim to integrate along.

    Raises:
        RuntimeError: The number of sample points does not match, or an argument is boolean.
        IndexError: `dim` is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(trapezoid(jnp.array([1.0, 2.0, 3.0])))
        4.0

    Torch: `torch.trapezoid`.
    """
    pairs, axis = _trapezoids("trapezoid", y, x, dx, dim)
    if x is not None or not y.shape[axis]:
        return jnp.sum(pairs, axis)
    y = floating(array(y))
    ends = jnp.take(y, 0, axis) + jnp.take(y, -1, axis)
    return (jnp.sum(y, axis) - ends * 0.5) * dx  # torch's formula: NaN for an infinite end


def cumulative_trapezoid(
    y: Array, x: Array | None = None, *, dx: float = 1, dim: int = -1
) -> Array:
    """Return the cumulative integral by the trapezoidal rule, one element shorter along the dim.

    The arguments and errors are those of `trapezoid`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cumulative_trapezoid(jnp.array([1.0, 2.0, 3.0])))
        [1.5 4. ]

    Torch: `torch.cumulative_trapezoid`.
    """
    pairs, axis = _trapezoids("cumulative_trapezoid", y, x, dx, dim)
    return jnp.cumsum(pairs, axis)


def _trapezoids(name: str, y: Any, x: Any, dx: float, dim: int) -> tuple[Array, int]:
    y = array(y, "y")
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = canonical_dim(dim, y.ndim)
    if x is not None:
        x = array(x, "x")
    for which, z in (("y", y), ("x", x)):
        if z is not None and z.dtype == jnp.bool_:
            raise RuntimeError(
                f"{name}: received a bool input for `{which}`, but bool is not supported"
            )

    def ends(z: Array, along: int) -> tuple[Array, Array]:
        n = z.shape[along]
        low = jax.lax.slice_in_dim(z, 0, max(n - 1, 0), axis=along)
        return low, jax.lax.slice_in_dim(z, min(1, n), n, axis=along)

    left, right = ends(floating(y), axis)
    if x is None:
        return (left + right) * (dx / 2.0), axis
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point: there are "
                f"{x.shape[0]} and {y.shape[axis]}"
            )
        x = x.reshape(-1, *(1 for _ in range(y.ndim - axis - 1)))
    low, high = ends(floating(x), x.ndim + axis - y.ndim)
    with broadcasting(left, high):
        return (left + right) * (high - low) * 0.5, axis
