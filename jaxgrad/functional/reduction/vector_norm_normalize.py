"""Vector norms with torch's gradients at zero vectors, zero elements and ties."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad._core.typing import Array, DTypeLike
from jaxgrad.functional._core.arguments import (
    Dim,
    array,
    canonical_dim,
    canonical_dims,
    in_opmath,
    is_complex,
    is_floating,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject
from jaxgrad.functional.pointwise.abs_sign import sign_kernel
from jaxgrad.functional.pointwise.arithmetic import quotient
from jaxgrad.functional.pointwise.clamp_maximum import hinge


def vector_norm(
    input: Array,
    ord: float = 2,
    dim: Dim = None,
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the p-norm over the given dims or all dims.

    Args:
        input: Float or complex array of any shape.
        ord: Any number, inf or -inf; 0 counts the nonzero elements.
        dim: Dim or dims to reduce; None for all.
        keepdim: Whether to keep the reduced dims with size 1.
        dtype: Dtype to cast the input to first, of the same dtype class and not narrower.

    Raises:
        RuntimeError: The input is neither float nor complex, is empty although the norm has
            no identity, or cannot be cast to `dtype` without narrowing.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(vector_norm)(jnp.zeros(2)), jax.grad(jnp.linalg.norm)(jnp.zeros(2)))
        [0. 0.] [nan nan]

    Torch: `torch.linalg.vector_norm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a zero vector the gradient is 0 (`jnp.linalg.norm`: NaN, with `ord=1` 1, and with
           `ord=inf` shared).
        2. At a zero element the gradient is 0 (`jnp.linalg.norm`: 1 with `ord=1`, inf with
           `ord=0.5`, NaN with negative `ord`).
        3. A NaN element has gradient 0 if `ord` is 1 or infinite.
    """
    input = cast_for_norm("linalg.vector_norm", array(input), dtype)
    axes = canonical_dims(dim, input.ndim)
    if (ord < 0 or ord == math.inf) and 0 in (input.shape[a] for a in axes):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    return in_opmath(p_norm, input, p=float(ord), axes=axes, keepdim=keepdim)


def cast_for_norm(name: str, x: Array, dtype: DTypeLike | None) -> Array:
    """Cast `x` to `dtype` after torch's checks that no precision or imaginary part is lost."""
    if not is_floating(x):
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if dtype is None:
        return x
    dtype, field = jnp.dtype(dtype), "complex" if is_complex(x) else "real"
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype}")
    if jnp.issubdtype(dtype, jnp.complexfloating) != (field == "complex"):
        raise RuntimeError(f"{name}: dtype should be {field} for {field} inputs, but got {dtype}")
    if jnp.promote_types(x.dtype, dtype) != dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({x.dtype}) should be convertible without narrowing "
            f"to the specified dtype ({dtype})"
        )
    return x.astype(dtype)


def p_norm(x: Array, *, p: float, axes: tuple[int, ...], keepdim: bool = False) -> Array:
    """Return the p-norm without argument checks, in the input's dtype."""
    out = _norm(x, p=p, axes=axes)
    return out if keepdim else jnp.squeeze(out, axes)


def _norm_derivative(t: Any, norm: Any, x: Any, p: float, axes: Any) -> Any:
    if p == 0:
        return None
    if p == 2:
        factor = jnp.where(norm == 0, 0, x / norm)
    elif p == 1:
        factor = sgn_kernel(x)
    elif math.isinf(p):
        size = jnp.abs(x)
        mask = jax.lax.stop_gradient((size == norm) | jnp.isnan(size))
        factor = sgn_kernel(x) * (mask / jnp.sum(mask, axes, keepdims=True))
    elif p < 1:
        factor = sgn_kernel(x) * jnp.where(x == 0, 0, jnp.power(jnp.abs(x), p - 1))
    elif p < 2:
        scale = jnp.where(norm == 0, 0, 1 / jnp.power(norm, p - 1))
        factor = sgn_kernel(x) * _power(_abs(x), p - 1) * scale
    else:
        scale = jnp.where(norm == 0, 0, 1 / jnp.power(norm, p - 1))
        factor = x * _power(_abs(x), p - 2) * scale
    product = jnp.real(jnp.conj(factor) * t) if is_complex(x) else factor * t
    total = jnp.sum(product, axes, keepdims=True)
    if -math.inf < p < 1:
        return total * jnp.power(norm, 1 - p)  # torch scales the sum, which may be infinite
    # For these orders torch masks the product, so that second derivatives are 0 rather than NaN.
    return jnp.where(norm == 0, 0, total) if p > 1 and p not in (2, math.inf) else total


@derivative(_norm_derivative)
def _norm(x: Array, *, p: float, axes: tuple[int, ...]) -> Array:
    size = jnp.abs(x)
    if p == 0:
        return jnp.sum((x != 0).astype(size.dtype), axes, keepdims=True)
    if p == math.inf:
        return jnp.max(size, axes, keepdims=True)
    if p == -math.inf:
        return jnp.min(size, axes, keepdims=True)
    if p == 1:
        return jnp.sum(size, axes, keepdims=True)
    if p == 2:
        return jnp.sqrt(jnp.sum(size * size, axes, keepdims=True))
    return jnp.power(jnp.sum(jnp.power(size, p), axes, keepdims=True), 1 / p)


def sgn_kernel(x: Array) -> Array:
    """Return `x / |x|`, or 0 at 0; real inputs give 0 at NaN and have no derivative."""
    if is_complex(x):
        size = jnp.abs(x)
        return jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size))
    return sign_kernel(x)


@derivative(lambda t, _, x: jnp.real(jnp.conj(sgn_kernel(x)) * t))
def _abs(x: Array) -> Array:
    return jnp.abs(x)


@derivative(lambda t, _, x, p: t * (jnp.where(p == 0, 0, p * jnp.power(x, p - 1))), None)
def _pow(x: Array, p: Array) -> Array:
    return jnp.power(x, p)


def _power(x: Array, p: float) -> Array:
    return _pow(x, jnp.asarray(p, x.dtype)) if p else jnp.ones_like(x)


def normalize(
    input: Array, p: float = 2.0, dim: Dim = 1, eps: float = 1e-12, *, torch: str = NEWEST
) -> Array:
    """Divide the input by its p-norm along a dim, with the norm bounded below by `eps`.

    Raises:
        IndexError: A dim is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(normalize(jnp.array([3.0, 4.0]), dim=0))
        [0.6 0.8]

    Torch: `torch.nn.functional.normalize`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a zero vector the gradient is 1 / eps (`x / jnp.maximum(norm, eps)`: NaN).
    """
    reject("normalize", "bool integer", input)
    input = array(input)
    axes = canonical_dims(dim, input.ndim)

    def unit(x: Array) -> Array:
        size = p_norm(x, p=float(p), axes=axes, keepdim=True)
        return quotient(x, hinge(size, eps, torch))

    return in_opmath(unit, input)


def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """Scale down each slice along a dim so that its p-norm is at most `maxnorm`.

    Raises:
        RuntimeError: The input has fewer than two dims, `p` is not positive, or `maxnorm` is
            negative.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{renorm(jnp.array([[3.0, 4.0]]), 2, 0, 1.0)[0, 0]:.4f}")
        0.6000

    Torch: `torch.renorm`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. At a zero slice the gradient is 1 (with `jnp.linalg.norm`: NaN).
    """
    reject("renorm", "bool integer", input)
    input = array(input)
    if p <= 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported: p is {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    kept = canonical_dim(dim, input.ndim)
    axes = tuple(a for a in range(input.ndim) if a != kept)

    return in_opmath(_bounded, input, p=float(p), axes=axes, bound=maxnorm)


def _bounded_derivative(t: Any, _: Any, x: Any, p: float, axes: Any, bound: float) -> Any:
    size, pull = jax.vjp(lambda x: p_norm(x, p=p, axes=axes, keepdim=True), x)
    (slope,) = pull(jnp.ones_like(size))
    over, inverse = size > bound, 1 / (size + 1e-7)
    product = jnp.where(over, t, 0) * jnp.where(over, slope, 0)
    norm_tangent = jnp.sum(product, axes, keepdims=True).real
    scale = jnp.where(over, bound * inverse, 1)
    return t * scale - jnp.where(over, x * (scale * inverse), 0) * norm_tangent


@derivative(_bounded_derivative)
def _bounded(x: Array, *, p: float, axes: Any, bound: float) -> Array:
    size = p_norm(x, p=p, axes=axes, keepdim=True)
    return x * jnp.where(size > bound, bound / (size + 1e-7), 1)
