"""Sums, means and products with torch's dims and dtypes, and its gradients at zeros and NaN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, DTypeLike
from jaxgrad.functional._core.arguments import (
    Dim,
    array,
    canonical_dims,
    exact,
    in_opmath,
    is_floating,
)
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject


def widened(input: Any, dtype: DTypeLike | None) -> Array:
    """Cast the input to the dtype in which torch accumulates it: int64 for integers."""
    input = array(input)
    if dtype is not None:
        return input.astype(dtype)
    return input if is_floating(input) else input.astype(int)


def sum(
    input: Array, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the sum over the given dims or all dims; integers are summed as int64.

    Example:
        >>> import jax.numpy as jnp
        >>> print(sum(jnp.ones((2, 3)), 0))
        [2. 2. 2.]

    Torch: `torch.sum`.
    """
    input = widened(input, dtype)
    axes = canonical_dims(dim, input.ndim)
    if input.dtype == jnp.bool_:  # only possible with dtype=bool
        return jnp.any(input, axes, keepdims=keepdim)
    return exact(lambda x: jnp.sum(x, axes, keepdims=keepdim), input)


def mean(
    input: Array, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the mean over the given dims or all dims.

    Raises:
        RuntimeError: The dtype, after a cast to `dtype`, is not floating.

    Example:
        >>> import jax.numpy as jnp
        >>> print(mean(jnp.array([[1.0, 3.0]]), 1))
        [2.]

    Torch: `torch.mean`.
    """
    input = _require_inexact("mean", input if dtype is None else array(input).astype(dtype))
    axes = canonical_dims(dim, input.ndim)
    return in_opmath(lambda x: jnp.mean(x, axes, keepdims=keepdim), input)


def _require_inexact(name: str, input: Any) -> Array:
    input = array(input)
    if not is_floating(input):
        raise RuntimeError(
            f"{name}(): the input dtype should be either floating point or complex. Got: "
            f"{input.dtype}; cast it"
        )
    return input


def nansum(
    input: Array, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the sum of the elements that are not NaN, over the given dims or all dims.

    Raises:
        NotImplementedError: The input is complex, or is floating and `dtype` is complex.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nansum(jnp.array([1.0, jnp.nan])))
        1.0

    Torch: `torch.nansum`.
    """
    input = _cast_real("nansum", array(input), dtype)
    return sum(jnp.where(jnp.isnan(input), 0, input), dim, keepdim, dtype=dtype)


def _cast_real(name: str, input: Array, dtype: DTypeLike | None) -> Array:
    """Cast to `dtype`, and reject complex inputs and casts from floats to complex numbers."""
    reject(name, "complex", input)
    wide = widened(input, dtype)
    if is_floating(input):
        reject(name, "complex", wide)
    return wide


def nanmean(
    input: Array, dim: Dim = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the mean of the elements that are not NaN, over the given dims or all dims.

    Raises:
        RuntimeError: The input or `dtype` is integer or boolean.
        NotImplementedError: The input or `dtype` is complex.

    Example:
        >>> import jax.numpy as jnp
        >>> print(nanmean(jnp.array([1.0, jnp.nan])))
        1.0

    Torch: `torch.nanmean`. Gradient conventions: docs/operators.md.
    """
    input = _require_inexact(
        "nanmean", _cast_real("nanmean", _require_inexact("nanmean", input), dtype)
    )
    axes = canonical_dims(dim, input.ndim)

    def average(x: Array) -> Array:
        counts = ~jnp.isnan(x)
        total = jnp.sum(_nan_to_zero(x), axes, keepdims=keepdim)
        return total / jnp.sum(counts, axes, keepdims=keepdim).astype(x.dtype)

    return in_opmath(average, input)


# The mask is a factor, so that the infinite cotangent of an all-NaN mean gives NaN as in torch.
@derivative(lambda t, _, x: t * jnp.where(jnp.isnan(x), 0, 1))
def _nan_to_zero(x: Array) -> Array:
    return jnp.where(jnp.isnan(x), 0, x)


def prod(
    input: Array, dim: int | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the product along one dim or over all; integers are multiplied as int64.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(prod)(jnp.array([0.0, 2.0, 3.0])))
        [6. 0. 0.]

    Torch: `torch.prod`. Gradient conventions: docs/operators.md.
    """
    input = widened(input, dtype)
    axes = canonical_dims(dim, input.ndim)
    if not input.ndim:
        return input
    if input.dtype == jnp.bool_:  # only possible with dtype=bool
        return jnp.all(input, axes, keepdims=keepdim)
    return exact(lambda x: _squeeze(_prod(x, axes=axes), axes, keepdim), input)


def _squeeze(y: Array, axes: Any, keepdim: bool) -> Array:
    return y if keepdim else jnp.squeeze(y, axes)


def _prod_derivative(t: Any, _: Any, x: Any, axes: Any) -> Any:
    """Divide the product by each factor, but avoid the division if any element is 0."""
    zero = jnp.any(x == 0)
    safe = jnp.where(zero, 1, x)  # dividing `out` would bring 0 * inf into a second derivative
    quotient = jnp.where(zero, 0, _prod(safe, axes=axes)) / safe
    direct = jax.jvp(
        lambda x: jnp.prod(x, axes, keepdims=True),
        (jnp.where(zero, x, 1),),
        (jnp.where(zero, t, 0),),
    )[1]
    return jnp.sum(t * quotient, axes, keepdims=True) + direct


@derivative(_prod_derivative)
def _prod(x: Array, *, axes: Any) -> Array:
    return jnp.prod(x, axes, keepdims=True)


def logsumexp(input: Array, dim: Dim, keepdim: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over the given dims.

    Raises:
        RuntimeError: `dim` is `()` without `keepdim`, as in torch.

    Example:
        >>> import jax.numpy as jnp
        >>> print(logsumexp(jnp.zeros(2), 0).round(4))
        0.6931

    Torch: `torch.logsumexp`.
    """
    input = array(input)
    axes = canonical_dims(dim, input.ndim)
    if input.ndim and not keepdim and isinstance(dim, Sequence) and not dim:
        ones = [1] * input.ndim
        raise RuntimeError(
            f"output with shape [] doesn't match the broadcast shape {ones}: logsumexp() takes "
            f"dim=() only with keepdim=True; name the dims, as in dim={tuple(range(input.ndim))}"
        )

    def total(x: Array) -> Array:
        out = _logsumexp(x, axes=axes)
        return out if keepdim else jnp.squeeze(out, axes)

    return in_opmath(total, input)


@derivative(lambda t, out, x, axes: jnp.sum(t * jnp.exp(x - out), axes, keepdims=True))
def _logsumexp(x: Array, *, axes: Any) -> Array:
    if not x.size:
        return jnp.log(jnp.sum(jnp.exp(x), axes, keepdims=True))
    high = jnp.max(jnp.real(x), axes, keepdims=True)
    high = jnp.where(jnp.isinf(high), 0, high)
    return jnp.log(jnp.sum(jnp.exp(x - high), axes, keepdims=True)) + high
