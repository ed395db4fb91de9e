"""Scaled dot-product attention with torch's masks; a fully masked row gives zeros."""

from __future__ import annotations

import math

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, in_opmath, is_floating
from jaxgrad.functional._core.derivative import derivative
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.activation.dropout import dropout


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    dropout_key: Array | None = None,
) -> Array:
    """Compute `softmax(query @ key.mT * scale + mask) @ value`.

    Args:
        query: `(*, heads, L, E)`.
        key: `(*, heads, S, E)`.
        value: `(*, heads, S, Ev)`.
        attn_mask: Broadcasts to `(*, heads, L, S)`. A boolean mask excludes keys at False; a
            floating one is added to the scores.
        dropout_p: Probability of dropping an attention weight.
        is_causal: Whether query i attends only to keys 0 to i.
        scale: Factor of the scores. None: `1 / sqrt(E)`.
        enable_gqa: Whether to repeat the heads of key and value to match those of the query.
        dropout_key: A `jax.random` key, required if `dropout_p` is not 0.

    Returns:
        `(*, heads, L, Ev)`.

    Raises:
        RuntimeError: Shapes or dtypes do not match, or the mask is neither boolean nor floating.

    Example:
        >>> import jax.numpy as jnp
        >>> q, masked = jnp.ones((1, 2, 3)), jnp.array([[True, True], [False, False]])
        >>> print(scaled_dot_product_attention(q, q, q, masked)[0, :, 0])
        [1. 0.]

    Torch: `torch.nn.functional.scaled_dot_product_attention`.
    Gradient conventions: docs/operators.md.

    Differs from jax in:
        1. A fully masked row is 0 and has gradient 0 (`jax.nn.dot_product_attention`: the mean of
           all values, or NaN with a bias of -inf).
        2. float64 inputs are computed in float64 (`jax.nn.dot_product_attention`: float32).
    """
    reject("scaled_dot_product_attention", "complex", query, key, value, attn_mask)
    query, key, value = array(query, "query"), array(key, "key"), array(value, "value")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    require_same_dtype("scaled_dot_product_attention", query=query, key=key, value=value)
    if not is_floating(query):
        raise RuntimeError(f"expected floating query, key and value, but found {query.dtype}")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"Expected size of query {list(query.shape)}, key {list(key.shape)} and value "
            f"{list(value.shape)} to be (..., L, E), (..., S, E) and (..., S, Ev)"
        )
    mask = None if attn_mask is None else array(attn_mask, "attn_mask")
    if mask is not None and mask.dtype != jnp.bool_ and not is_floating(mask):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and query.dtype: {query.dtype} instead."
        )
    if enable_gqa:
        key, value = (_repeat_heads(x, query.shape[-3]) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    added = [mask.astype(query.dtype)] if mask is not None and is_floating(mask) else []
    allowed = mask if mask is not None and not added else None

    def attend(q: Array, k: Array, v: Array, *bias: Array) -> Array:
        scores = jnp.matmul(q * factor, jnp.swapaxes(k, -1, -2))
        if bias:
            scores = scores + bias[0]
        if allowed is not None:
            scores = scores + jnp.where(allowed, 0, -jnp.inf)
        if is_causal:
            lower = jnp.tril(jnp.ones(scores.shape[-2:], bool))
            scores = scores + jnp.where(lower, 0, -jnp.inf)
        weights = dropout(_safe_softmax(scores), dropout_p, key=dropout_key)
        return jnp.matmul(weights, v)

    return in_opmath(attend, query, key, value, *added)


@derivative(lambda t, out, _: out * (t - (out * t).sum(-1, keepdims=True)))
def _safe_softmax(scores: Array) -> Array:
    """Return the softmax over the last dim, or zeros where all scores are -inf."""
    if not scores.shape[-1]:
        return scores
    largest = jnp.max(scores, -1, keepdims=True)
    powers = jnp.exp(scores - jnp.where(largest == -jnp.inf, 0, largest))
    total = powers.sum(-1, keepdims=True)  # 0 only in a fully masked row
    return powers / jnp.where(total == 0, 1, total)


def _repeat_heads(x: Array, heads: int) -> Array:
    if heads % x.shape[-3]:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in query: they are "
            f"{x.shape[-3]} and {heads}"
        )
    return jnp.repeat(x, heads // x.shape[-3], -3)
