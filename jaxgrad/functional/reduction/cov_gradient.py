"""Covariance, correlation and finite-difference gradients, with torch's options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import (
    HALF,
    Dim,
    array,
    canonical_dim,
    canonical_dims,
    floating,
    in_opmath,
    require,
)
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.arithmetic import div
from jaxgrad.functional.pointwise.clamp_maximum import clamp


def cov(
    input: Array,
    *,
    correction: int = 1,
    fweights: Array | None = None,
    aweights: Array | None = None,
) -> Array:
    """Return the covariance matrix of variables (rows) over observations (columns).

    Args:
        input: `(variables, observations)`, or `(observations,)` for one variable.
        correction: Number subtracted from the number of observations in the divisor.
        fweights: Number of times each observation occurs, integers `(observations,)`.
        aweights: Importance of each observation, floats `(observations,)`.

    Returns:
        `(variables, variables)`, or a 0-d array for one variable.

    Raises:
        RuntimeError: The input has three dims or more or is boolean, or the weights have the
            wrong dtype or number, or are negative.

    Example:
        >>> import jax.numpy as jnp
        >>> print(cov(jnp.array([1.0, 2.0, 3.0])))
        1.0

    Torch: `torch.cov`.
    """
    input = _require_matrix("cov", input)
    named = {"fweights": fweights, "aweights": aweights}
    for name, w in named.items():
        _check_weights(name, w, input.shape[-1] if input.ndim else 1)
    weights = [array(w, name) for name, w in named.items() if w is not None]

    def covariance(x: Array, *weights: Array) -> Array:
        return _covariance(x, weights, correction, aweights is not None)

    dtype = floating(input).dtype
    if aweights is not None:
        dtype = jnp.promote_types(dtype, array(aweights).dtype)
    if dtype in HALF:
        return in_opmath(covariance, input.astype(dtype), *weights)
    # As in torch, the weights are summed in their own dtype, whatever the input's.
    return covariance(input.astype(dtype), *weights)


def _covariance(x: Array, weights: Sequence[Array], correction: int, normed: bool) -> Array:
    x = x if x.ndim == 2 else x.reshape(1, -1)
    w = None
    for each in weights:
        w = each if w is None else w * each
    total: Any = x.shape[1] if w is None else jnp.sum(w)
    mean = jnp.sum(x if w is None else x * w, 1, keepdims=True) / total
    degrees = total - correction
    if normed and correction and w is not None:
        degrees = total - correction * jnp.sum(w * weights[-1]) / total
    centred = x - mean
    scaled = centred if w is None else centred * w
    divisor = jnp.maximum(jnp.asarray(degrees, x.real.dtype), 0)
    return jnp.squeeze(jnp.matmul(centred, jnp.conj(scaled).T) / divisor)


def corrcoef(input: Array, *, torch: str = NEWEST) -> Array:
    """Return the correlation matrix of variables (rows) over observations (columns).

    Raises:
        RuntimeError: The input has three dims or more or is boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> print(corrcoef(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])).round(4))
        [[ 1. -1.]
         [-1.  1.]]

    Torch: `torch.corrcoef`.
    """
    return in_opmath(_correlation, _require_matrix("corrcoef", input), torch=torch)


def _correlation(x: Array, *, torch: str) -> Array:
    c = _covariance(x, (), 1, False)
    if not c.ndim:
        return div(c, c)
    spread = jnp.sqrt(jnp.diagonal(c).real)
    c = c / spread[:, None] / spread
    return c if jnp.iscomplexobj(c) else clamp(c, -1, 1, torch=torch)


def _require_matrix(name: str, input: Any) -> Array:
    input = array(input)
    if input.ndim > 2:
        raise RuntimeError(
            f"{name}(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    if input.dtype == jnp.bool_:
        raise RuntimeError(f"{name}(): bool dtype is not supported for input")
    return input


def _check_weights(name: str, w: Array | None, count: int) -> None:
    if w is None:
        return
    dtype_class, wanted = (
        (jnp.integer, "integral") if name == "fweights" else (jnp.floating, "floating point")
    )
    if not jnp.issubdtype(w.dtype, dtype_class):
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {w.dtype} dtype"
        )
    if w.shape != (count,) and w.ndim:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {w.size} != {count}"
        )
    require(jnp.all(w >= 0), RuntimeError(f"cov(): {name} cannot be negative"))


def gradient(
    input: Array,
    *,
    spacing: float | Array | Sequence[float | Array] = 1,
    dim: Dim = None,
    edge_order: int = 1,
) -> tuple[Array, ...]:
    """Estimate derivatives along dims by central differences, one-sided at the ends.

    Args:
        input: Array of any shape.
        spacing: Distance between neighbours: a number, or for each dim a number or an array
            of coordinates.
        dim: Dim or dims to differentiate along; None for all.
        edge_order: Order of the one-sided differences at the ends, 1 or 2.

    Returns:
        One array of the input's shape for each dim.

    Raises:
        RuntimeError: `edge_order` is invalid, there are not as many spacings as dims, or
            a dim is too short.

    Example:
        >>> import jax.numpy as jnp
        >>> print(gradient(jnp.array([1.0, 4.0, 9.0]))[0])
        [3. 4. 5.]

    Torch: `torch.gradient`.

    Differs from jax in:
        1. `edge_order=2` is supported (`jnp.gradient`: NotImplementedError).
    """
    reject("gradient", "bool", input)
    input = array(input)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    axes = (
        [canonical_dim(dim, input.ndim)]
        if isinstance(dim, int)
        else list(canonical_dims(dim, input.ndim))
    )
    spacings = list(spacing) if isinstance(spacing, Sequence) else [spacing] * len(axes)
    if len(spacings) != len(axes):
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
            f"equal to the number of dims, {len(axes)}, but got a list of length {len(spacings)}"
        )
    for axis in axes:
        if input.shape[axis] <= edge_order:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1: it is "
                f"{input.shape[axis]}"
            )

    def slopes(x: Array) -> tuple[Array, ...]:
        results = []
        for axis, h in zip(axes, spacings, strict=True):
            results.append(jnp.moveaxis(_slope(jnp.moveaxis(x, axis, -1), h, edge_order), -1, axis))
        return tuple(results)

    return in_opmath(slopes, input)


def _slope(x: Array, spacing: Any, order: int) -> Array:
    if jnp.ndim(spacing):
        h = jnp.diff(jnp.asarray(spacing)).astype(x.dtype)
        before, after = h[:-1], h[1:]
        inside = (
            x[..., :-2] * (-after / (before * (before + after)))
            + x[..., 1:-1] * ((after - before) / (before * after))
            + x[..., 2:] * (before / (after * (before + after)))
        )
        ends = h[0], h[-1]
    else:
        inside = (x[..., 2:] - x[..., :-2]) / (2 * spacing)
        h = jnp.full(2, spacing, x.dtype)
        ends = spacing, spacing
    if order == 1:
        first, last = (x[..., 1] - x[..., 0]) / ends[0], (x[..., -1] - x[..., -2]) / ends[1]
    else:
        first = _end_slope(x[..., 0], x[..., 1], x[..., 2], h[0], h[1])
        last = -_end_slope(x[..., -1], x[..., -2], x[..., -3], h[-1], h[-2])
    return jnp.concatenate([first[..., None], inside, last[..., None]], -1)


def _end_slope(a: Array, b: Array, c: Array, h: Array, k: Array) -> Array:
    """Return the slope at `a` of the parabola through `a`, `b` and `c`, at distances h and k."""
    return a * (-(2 * h + k) / (h * (h + k))) + b * ((h + k) / (h * k)) + c * (-h / (k * (h + k)))
