"""Quantiles with torch's interpolation modes and its gradients at NaN."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST, SELECTED_QUANTILES
from jaxgrad.functional._core.arguments import array, canonical_dim, require
from jaxgrad.functional._core.dtypes import require_same_dtype
from jaxgrad.functional._core.order import stable_order
from jaxgrad.functional.pointwise.lerp_addcmul import lerp_kernel


def quantile(
    input: jax.Array,
    q: jax.Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    torch: str = NEWEST,
) -> jax.Array:
    """Return the q-quantiles of all elements or along a dim.

    Args:
        input: Nonempty float32 or float64 array.
        q: A number, or an array of the input's dtype with at most one dim, which becomes the
            first dim of the result.
        dim: Dim to reduce; None for all elements.
        keepdim: Whether to keep the reduced dim with size 1.
        interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"` or `"nearest"`.
        torch: Version whose rounding is computed. Before torch 2.14 the weights of float32
            quantiles had the rounding error of the rank.

    Raises:
        RuntimeError: A dtype, shape or the interpolation is invalid, or a `q` is not in [0, 1]
            (an array `q` under `jit` is only checked with `checkify`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), 0.5))
        2.5

    Torch: `torch.quantile`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. A NaN element receives the gradient (`jnp.quantile`: no gradient).
        2. `"nearest"` rounds halves to even.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, torch)


def nanquantile(
    input: jax.Array,
    q: jax.Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
    torch: str = NEWEST,
) -> jax.Array:
    """Return the q-quantiles of the non-NaN elements, over all dims or along one.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5))
        2.0

    Torch: `torch.nanquantile`. Gradient conventions: docs/operators.md.
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, torch)


def _quantile(
    name: str,
    input: Any,
    q: Any,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    torch: str,
) -> jax.Array:
    input = array(input)
    if input.dtype not in (jnp.float32, jnp.float64):
        raise RuntimeError(
            f"{name}() input tensor must be either float or double dtype, not {input.dtype}"
        )
    if not input.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    if isinstance(q, int | float):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = jnp.asarray(q, input.dtype)
    q = array(q, "q")
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, not of {q.ndim} dims")
    require_same_dtype(name, input=input, q=q)
    require(
        jnp.all((q >= 0) & (q <= 1)), RuntimeError(f"{name}() q values must be in the range [0, 1]")
    )
    axis = 0 if dim is None else canonical_dim(dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else jnp.moveaxis(input, axis, -1)
    how = (interpolation, name == "nanquantile", SELECTED_QUANTILES.holds(torch))
    out = _interpolated(rows, q.reshape(-1), *how)
    if keepdim:
        shape = [1] * input.ndim if dim is None else [*input.shape]
        if input.ndim:
            shape[axis] = 1
        out = out.reshape(q.size, *shape)
    return out if q.ndim else out[0]


def _interpolated(x: jax.Array, q: jax.Array, how: str, skip_nan: bool, exact: bool) -> jax.Array:
    """Return the quantiles along the last dim, with the dim of `q` first."""
    ordered = jnp.take_along_axis(x, stable_order(x, x.ndim - 1), -1)
    nan = jnp.isnan(x)
    if skip_nan:
        last = jnp.sum(~nan, -1, keepdims=True) - 1
        low, weight = _rank(q, jnp.maximum(last, 0), exact)
        # If all elements are NaN, torch takes the first, with a gradient only for q = 0.
        weight = jnp.where((last < 0) & (q > 0), 0, weight)
    else:
        has_nan = jnp.any(nan, -1, keepdims=True)
        low, weight = _rank(q, jnp.asarray(x.shape[-1] - 1), exact)
        low, weight = jnp.where(has_nan, x.shape[-1] - 1, low), jnp.where(has_nan, 0, weight)
    between = jax.lax.stop_gradient(weight)
    above = low + (between > 0)
    if how in ("lower", "higher", "nearest"):
        nearer = jnp.where((between > 0.5) | ((between == 0.5) & (low % 2 == 1)), above, low)
        at = {"lower": low, "higher": above, "nearest": nearer}[how]
        return jnp.moveaxis(jnp.take_along_axis(ordered, at, -1), -1, 0)
    if how == "midpoint":
        weight = jnp.full_like(weight, 0.5)
    ends = (jnp.take_along_axis(ordered, at, -1) for at in (low, above))
    return jnp.moveaxis(lerp_kernel(*ends, weight), -1, 0)


def _rank(q: jax.Array, last: jax.Array, exact: bool) -> tuple[jax.Array, jax.Array]:
    """Return the integer part of `q * last`, and the rest, which has the derivative `last`.

    If `exact`, the rest of a float32 rank has no error of the product: `q` is split into a multiple
    of 1 / 4096, whose products with the digits of `last` in base 4096 are exact, and a remainder.
    """
    if not exact or q.dtype == jnp.float64:
        rank = q * last.astype(q.dtype)
        low = jnp.floor(jax.lax.stop_gradient(rank))
        return low.astype(int), rank - low
    steps = jnp.round(jax.lax.stop_gradient(q) * 4096)
    high, digit = last // 4096, (last % 4096).astype(q.dtype)
    part = steps / 4096 * digit
    rest = part - jnp.floor(part) + (q - steps / 4096) * last.astype(q.dtype)
    carry = jnp.floor(jax.lax.stop_gradient(rest))
    whole = steps.astype(int) * high + jnp.floor(part).astype(int) + carry.astype(int)
    return whole, rest - carry
