"""Quantiles: torch's interpolations, and which elements have the gradient."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

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
) -> jax.Array:
    """The q-quantiles along a dim, or of all.

    Args:
        input: float32 or float64, not empty.
        q: A number, or an array of at most one dim and of the input's dtype; its dim comes first.
        dim: The dim; None is all.
        keepdim: Whether the dim stays, with size 1.
        interpolation: `"linear"`, `"lower"`, `"higher"`, `"midpoint"` or `"nearest"`.

    Raises:
        RuntimeError: A dtype or shape does not fit, or a q is not in [0, 1] (an array's under
            `jit` only with `checkify`).

    Example:
        >>> import jax.numpy as jnp
        >>> print(quantile(jnp.array([1.0, 2.0, 3.0, 4.0]), 0.5))
        2.5

    Gradient conventions: docs/operators.md.
    Torch: `torch.quantile`.

    Differs from jax in:
        1. Where there is a NaN it has the gradient (`jnp.quantile`: none).
        2. `"nearest"` rounds halves to even.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


def nanquantile(
    input: jax.Array,
    q: jax.Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> jax.Array:
    """The q-quantiles of what is not NaN, as of `quantile`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5))
        2.0

    Gradient conventions: docs/operators.md.
    Torch: `torch.nanquantile`.
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


def _quantile(
    name: str, input: Any, q: Any, dim: int | None, keepdim: bool, interpolation: str
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
        jnp.all((q >= 0) & (q <= 1)),
        RuntimeError(f"{name}() q values must be in the range [0, 1]"),
    )
    axis = 0 if dim is None else canonical_dim(dim, input.ndim)
    rows = input.reshape(-1) if dim is None or not input.ndim else jnp.moveaxis(input, axis, -1)
    out = _interpolated(rows, q.reshape(-1), interpolation, ignores=name == "nanquantile")
    if keepdim:
        kept = [1] * input.ndim if dim is None else [*input.shape]
        if input.ndim:
            kept[axis] = 1
        out = out.reshape(q.size, *kept)
    return out if q.ndim else out[0]


def _interpolated(x: jax.Array, q: jax.Array, how: str, *, ignores: bool) -> jax.Array:
    """Quantiles along the last dim; the dim of q first."""
    ordered = jnp.take_along_axis(x, stable_order(x, x.ndim - 1), -1)
    nan = jnp.isnan(x)
    if ignores:
        rank = q * (jnp.sum(~nan, -1, keepdims=True) - 1).astype(x.dtype)
        rank = jnp.where(rank < 0, 0, rank)  # of nothing but NaN, without a gradient
    else:
        whole = jnp.any(nan, -1, keepdims=True)
        rank = jnp.where(whole, x.shape[-1] - 1, q * (x.shape[-1] - 1))
    fixed = jax.lax.stop_gradient(rank)
    if how == "lower":
        rank = jnp.floor(fixed)
    elif how == "higher":
        rank = jnp.ceil(fixed)
    elif how == "nearest":
        rank = jnp.round(fixed)
    low = jnp.floor(jax.lax.stop_gradient(rank)).astype(int)
    below = jnp.take_along_axis(ordered, low, -1)
    if how in ("linear", "midpoint"):
        weight = jnp.full_like(rank, 0.5) if how == "midpoint" else rank - low
        above = jnp.take_along_axis(ordered, jnp.ceil(fixed).astype(int), -1)
        below = lerp_kernel(below, above, weight)
    return jnp.moveaxis(below, -1, 0)
