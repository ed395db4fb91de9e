"""Softmax and its variants with torch's dims and dtypes; gumbel_softmax's straight-through step."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp

from jaxgrad._core.typing import Array, DTypeLike
from jaxgrad.functional._core.arguments import array, canonical_dim, in_opmath, result_type
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject_each
from jaxgrad.functional.pointwise.arithmetic import neg


def _implicit_dim(name: str, dim: int | None, ndim: int) -> int:
    if dim is not None:
        return canonical_dim(dim, ndim)
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated in torch; pass dim=",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Array, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return exponentials of the input normalised to sum to 1 along a dim.

    Args:
        input: Array of any shape.
        dim: Dim along which the result sums to 1; None selects torch's legacy dim and warns.
        dtype: Dtype to which the input is cast first.

    Raises:
        NotImplementedError: The dtype, after the cast, is not a real float.

    Example:
        >>> import jax.numpy as jnp
        >>> print(softmax(jnp.array([1.0, 1.0]), 0))
        [0.5 0.5]

    Torch: `torch.nn.functional.softmax`. Gradient conventions: docs/operators.md.
    """
    input = _cast("softmax", input, dtype)
    axis = _implicit_dim("softmax", dim, input.ndim)
    return in_opmath(softmax_kernel, input, axis=axis)


def _softmax_tangent(t: Array, y: Array, x: Array, axis: int) -> Array:
    # Transposed, this order is torch's `y * (t - sum(y * t))`, which XLA computes in fewer passes.
    product = y * t
    return product - y * jnp.sum(product, axis if x.ndim else None, keepdims=True)


@derivative(_softmax_tangent)
def softmax_kernel(x: Array, *, axis: int) -> Array:
    if not x.size:
        return x
    axes = axis if x.ndim else None
    z = jnp.exp(x - jnp.max(x, axes, keepdims=True))
    return z / jnp.sum(z, axes, keepdims=True)


def softmin(input: Array, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the softmax of the negated input along a dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(softmin(jnp.array([1.0, 1.0]), 0))
        [0.5 0.5]

    Torch: `torch.nn.functional.softmin`.
    """
    input = neg(array(input))
    return softmax(input, _implicit_dim("softmin", dim, input.ndim), dtype=dtype)


def log_softmax(input: Array, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """Return the logarithm of the softmax along a dim.

    Example:
        >>> import jax.numpy as jnp
        >>> print(log_softmax(jnp.array([0.0, 0.0]), 0).round(4))
        [-0.6931 -0.6931]

    Torch: `torch.nn.functional.log_softmax`. Gradient conventions: docs/operators.md.
    """
    input = _cast("log_softmax", input, dtype)
    axis = _implicit_dim("log_softmax", dim, input.ndim)
    return in_opmath(log_softmax_kernel, input, axis=axis)


@derivative(
    lambda t, y, x, axis: t - jnp.sum(jnp.exp(y) * t, axis if x.ndim else None, keepdims=True)
)
def log_softmax_kernel(x: Array, *, axis: int) -> Array:
    if not x.size:
        return x
    axes = axis if x.ndim else None
    shifted = x - jnp.max(x, axes, keepdims=True)
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axes, keepdims=True))


def _cast(name: str, input: Any, dtype: Any) -> Array:
    input = array(input)
    if dtype is not None:
        input = input.astype(dtype)
    if not jnp.issubdtype(result_type(input), jnp.floating):
        raise NotImplementedError(
            f'"{name}_lastdim_kernel_impl" not implemented for {input.dtype}; cast to a float, '
            "or pass dtype="
        )
    return input


def gumbel_softmax(
    logits: Array,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
    *,
    key: Array | None = None,
    noise: Array | None = None,
) -> Array:
    """Sample from a categorical distribution differentiably: the softmax of logits plus noise.

    Args:
        logits: Unnormalised log-probabilities, of any shape.
        tau: Temperature.
        hard: Whether to return one-hot samples, with the gradient of the soft samples.
        eps: Ignored, as in torch.
        dim: Dim along which to sample.
        key: A `jax.random` key for the Gumbel noise.
        noise: Gumbel noise of the logits' shape, instead of a key.

    Raises:
        TypeError: Neither or both of `key` and `noise` are given.

    Example:
        >>> import jax.numpy as jnp
        >>> print(gumbel_softmax(jnp.array([0.0, 1.0]), hard=True, noise=jnp.zeros(2)))
        [0. 1.]

    Torch: `torch.nn.functional.gumbel_softmax`.
    """
    reject_each("gumbel_softmax", "bool", logits, noise)
    del eps
    logits = array(logits, "logits")
    if (key is None) == (noise is None):
        raise TypeError("gumbel_softmax needs either key=jax.random.key(...) or noise=, not both")
    if key is not None:
        noise = jax.random.gumbel(key, logits.shape, logits.dtype)
    noisy = (logits + array(noise, "noise")) / tau
    soft = softmax(noisy, dim)
    if not hard:
        return soft
    axis = canonical_dim(dim, logits.ndim)
    chosen = jnp.argmax(jax.lax.stop_gradient(soft), axis, keepdims=True) if logits.ndim else 0
    classes = jnp.arange(logits.shape[axis] if logits.ndim else 1)
    classes = classes.reshape(-1, *[1] * (logits.ndim - axis - 1)) if logits.ndim else 0
    one_hot = (classes == chosen) * jnp.ones_like(soft)
    return one_hot - jax.lax.stop_gradient(soft) + soft
