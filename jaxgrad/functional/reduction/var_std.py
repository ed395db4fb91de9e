"""Variance and standard deviation with torch's correction and its gradients at equal values."""

from __future__ import annotations

import builtins
import math
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad.functional._core.arguments import (
    Dim,
    array,
    canonical_dims,
    in_opmath,
    is_complex,
    is_floating,
)
from jaxgrad.functional._core.derivative import derivative


def var(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> jax.Array:
    """Return the variance over the given dims or all dims, by default divided by N - 1.

    Args:
        input: Float or complex array of any shape.
        dim: Dim or dims to reduce; None for all. A bool is taken as `unbiased`, over all dims.
        unbiased: torch's legacy option: True is `correction=1`, False is `correction=0`.
        keepdim: Whether to keep the reduced dims with size 1.
        correction: Number subtracted from N in the divisor.

    Raises:
        RuntimeError: The input is neither float nor complex.

    Example:
        >>> import jax.numpy as jnp
        >>> print(var(jnp.array([1.0, 3.0])), jnp.var(jnp.array([1.0, 3.0])))
        2.0 1.0

    Torch: `torch.var`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The default divisor is N - 1 (`jnp.var`: N).
    """
    return _moments(input, dim, correction, keepdim, unbiased)[0]


def std(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> jax.Array:
    """Return the standard deviation over the given dims, with gradient 0 for a constant input.

    The arguments and errors are those of `var`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> print(jax.grad(std)(jnp.ones(2)), jax.grad(jnp.std)(jnp.ones(2)))
        [0. 0.] [nan nan]

    Torch: `torch.std`. Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. The default divisor is N - 1 (`jnp.std`: N).
        2. For a constant input the gradient is 0 (`jnp.std`: NaN).
    """
    return std_mean(input, dim, correction=correction, keepdim=keepdim, unbiased=unbiased)[0]


def var_mean(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[jax.Array, jax.Array]:
    """Return the variance and the mean over the given dims or all dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*var_mean(jnp.array([1.0, 3.0])))
        2.0 2.0

    Torch: `torch.var_mean`.
    """
    return _moments(input, dim, correction, keepdim, unbiased)


def std_mean(
    input: jax.Array,
    dim: Dim = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = 1,
) -> tuple[jax.Array, jax.Array]:
    """Return the standard deviation and the mean over the given dims or all dims.

    Example:
        >>> import jax.numpy as jnp
        >>> print(*std_mean(jnp.array([1.0, 3.0]), correction=0))
        1.0 2.0

    Torch: `torch.std_mean`.
    """
    return _moments(input, dim, correction, keepdim, unbiased, root=True)


def _moments(
    input: Any,
    dim: Dim,
    correction: float | None,
    keepdim: bool,
    unbiased: bool | None,
    *,
    root: bool = False,
) -> tuple[jax.Array, jax.Array]:
    input = array(input)
    if not is_floating(input):
        raise RuntimeError(
            f"std and var only support floating point and complex dtypes, not {input.dtype}"
        )
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None:
        correction = int(unbiased)
    axes = canonical_dims(dim, input.ndim)
    count = math.prod(input.shape[a] for a in axes)
    free = count - (1 if correction is None else correction)
    options = {"axes": axes, "free": free, "over_all": dim is None or not input.ndim}

    def moments(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        spread = (_std if root else _var)(x, **options)
        mean = jnp.mean(x, axes, keepdims=True) + _nan_after_infinity(x, axes)
        return (spread, mean) if keepdim else (jnp.squeeze(spread, axes), jnp.squeeze(mean, axes))

    return in_opmath(moments, input)


def _centred(x: jax.Array, axes: Any) -> jax.Array:
    return x - jnp.mean(x, axes, keepdims=True)


def _first_or_last(x: jax.Array, axes: Any, which: slice) -> jax.Array:
    return x[tuple(which if a in axes else slice(None) for a in range(x.ndim))]


_FIRST, _LAST = slice(1), slice(-1, None)


def _nan_after_infinity(x: jax.Array, axes: Any) -> jax.Array:
    """Return NaN if a value follows an infinity: torch's running mean then computes inf - inf."""
    infinite = jnp.isinf(jax.lax.stop_gradient(x))
    last = jnp.sum(_first_or_last(infinite, axes, _LAST), axes, keepdims=True)
    follows = jnp.sum(infinite, axes, keepdims=True) > last
    return jnp.where(follows, jnp.nan, 0).astype(x.dtype)


def _real_product_sum(t: jax.Array, factor: jax.Array, axes: Any) -> jax.Array:
    product = jnp.real(jnp.conj(factor) * t) if is_complex(factor) else factor * t
    return jnp.sum(product, axes, keepdims=True)


def _var_derivative(t: Any, _: Any, x: Any, axes: Any, free: float, over_all: bool) -> Any:
    centred = _centred(x, axes)
    if free > 0 or (free < 0 and not over_all):
        return _real_product_sum(t, (2 / free) * centred, axes)
    undefined = jnp.where(centred == 0, jnp.nan, jnp.inf).astype(x.dtype)
    return _real_product_sum(t, undefined if over_all else centred * jnp.inf, axes)


@derivative(_var_derivative)
def _var(x: jax.Array, *, axes: Any, free: float, over_all: bool) -> jax.Array:
    del over_all
    # Subtract the first value so that equal values give exactly 0, as torch's running mean does.
    centred = _centred(x - jax.lax.stop_gradient(_first_or_last(x, axes, _FIRST)), axes)
    total = jnp.sum(jnp.real(centred * jnp.conj(centred)), axes, keepdims=True)
    return total / builtins.max(0, free)


def _std_derivative(t: Any, std: Any, x: Any, **options: Any) -> Any:
    inner = _var_derivative(t, None, x, **options)
    # Both factors are masked, as torch masks the product, so that the second derivative is 0.
    return jnp.where(std == 0, 0, inner * jnp.where(std == 0, 0, 1 / (2 * std)))


@derivative(_std_derivative)
def _std(x: jax.Array, **options: Any) -> jax.Array:
    return jnp.sqrt(_var(x, **options))
