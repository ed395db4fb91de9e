"""Multi-head attention with its projections: the function behind `torch.nn.MultiheadAttention`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, is_floating
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.activation.dropout import dropout
from jaxgrad.functional.activation.softmax import softmax
from jaxgrad.functional.linalg.matmul_einsum import matmul
from jaxgrad.functional.nn.attention import scaled_dot_product_attention
from jaxgrad.functional.nn.linear import linear
from jaxgrad.functional.reduction.sum_mean_prod import mean


def multi_head_attention_forward(
    query: Array,
    key: Array,
    value: Array,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Array | None,
    in_proj_bias: Array | None,
    bias_k: Array | None,
    bias_v: Array | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Array,
    out_proj_bias: Array | None,
    training: bool = True,
    key_padding_mask: Array | None = None,
    need_weights: bool = True,
    attn_mask: Array | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Array | None = None,
    k_proj_weight: Array | None = None,
    v_proj_weight: Array | None = None,
    static_k: Array | None = None,
    static_v: Array | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    *,
    dropout_key: Array | None = None,
) -> tuple[Array, Array | None]:
    """Project the inputs, attend in each head, and project the concatenated heads.

    Args:
        query: `(L, N, E)`, or `(L, E)` without a batch.
        key: `(S, N, E)`; with separate weights the last dim may differ from E.
        value: Like `key`.
        embed_dim_to_check: E.
        num_heads: Number of heads, which must divide E.
        in_proj_weight: `(3 * E, E)`, the stacked weights of query, key and value.
        in_proj_bias: `(3 * E,)`.
        bias_k: `(1, 1, E)`, a projected key to append.
        bias_v: `(1, 1, E)`, a projected value to append.
        add_zero_attn: Whether to append a key and a value of zeros.
        dropout_p: Probability of dropping an attention weight.
        out_proj_weight: `(E, E)`.
        out_proj_bias: `(E,)`.
        training: Whether to apply dropout.
        key_padding_mask: `(N, S)`. True excludes a key; a floating mask is added to the scores.
        need_weights: Whether to return the weights; if so, a fully masked row is NaN and not 0.
        attn_mask: `(L, S)` or `(N * num_heads, L, S)`, with the meaning of `key_padding_mask`.
        use_separate_proj_weight: Whether to use the three weights below, not `in_proj_weight`.
        q_proj_weight: `(E, E)`.
        k_proj_weight: `(E, key.shape[-1])`.
        v_proj_weight: `(E, value.shape[-1])`.
        static_k: `(N * num_heads, S, E / num_heads)`, replaces the projected keys.
        static_v: `(N * num_heads, S, E / num_heads)`, replaces the projected values.
        average_attn_weights: Whether to average the returned weights over the heads.
        is_causal: Hint that `attn_mask`, which must be passed, is causal.
        dropout_key: A `jax.random` key, required if dropout applies.

    Returns:
        The output `(L, N, E)`, and the weights `(N, L, S)` or `(N, num_heads, L, S)` or None.

    Raises:
        AssertionError: The dims, weights or biases are inconsistent.
        RuntimeError: A mask has the wrong shape, or `is_causal` is True without a mask.

    Example:
        >>> import jax.numpy as jnp
        >>> x, w = jnp.ones((2, 1, 2)), jnp.eye(2)
        >>> options = (2, 1, jnp.tile(w, (3, 1)), None, None, None, False, 0.0, w, None)
        >>> print(multi_head_attention_forward(x, x, x, *options)[1][0])
        [[0.5 0.5]
         [0.5 0.5]]

    Torch: `torch.nn.functional.multi_head_attention_forward`.
    """
    reject("multi_head_attention_forward", "complex", query, key, value)
    inputs = [array(x, name) for x, name in ((query, "query"), (key, "key"), (value, "value"))]
    unbatched = inputs[0].ndim == 2
    if unbatched:
        inputs = [x[:, None] for x in inputs]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
    length, batch, width = inputs[0].shape
    _check(width == embed_dim_to_check, f"was expecting embedding dimension of "
           f"{embed_dim_to_check}, but got {width}")  # fmt: skip
    _check(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint; pass the mask as well")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected(inputs, separate, in_proj_weight, in_proj_bias)

    _check((bias_k is None) == (bias_v is None), "bias_k is set but bias_v is None, or the other")
    appended = int(bias_k is not None) + int(add_zero_attn)
    if bias_k is not None and bias_v is not None:
        _check(static_k is None and static_v is None, "bias cannot be added to static key or value")
        k, v = (
            jnp.concatenate([x, jnp.tile(b, (1, batch, 1))]) for x, b in ((k, bias_k), (v, bias_v))
        )

    def in_heads(x: Array, static: Array | None) -> Array:
        if static is not None:
            return static.reshape(batch, num_heads, *static.shape[1:])
        return x.reshape(x.shape[0], batch, num_heads, -1).transpose(1, 2, 0, 3)

    q, k, v = in_heads(q, None), in_heads(k, static_k), in_heads(v, static_v)
    if add_zero_attn:
        k, v = (jnp.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0))) for x in (k, v))
    causal = is_causal and key_padding_mask is None and not need_weights  # then attn_mask is unused
    shape = (batch, num_heads, length, k.shape[2] - appended)
    mask = _mask(None if causal else attn_mask, key_padding_mask, shape, appended, q.dtype)

    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        require_same_dtype("multi_head_attention_forward", query=q, mask=mask)
        scores = matmul(q * math.sqrt(1 / q.shape[-1]), jnp.swapaxes(k, -1, -2))
        scores = scores if mask is None else scores + mask
        weights = dropout(softmax(scores, -1), p, key=dropout_key)
        out = matmul(weights, v)
        weights = mean(weights, 1) if average_attn_weights else weights
        weights = weights[0] if unbatched else weights
    else:
        out = scaled_dot_product_attention(q, k, v, mask, p, causal, dropout_key=dropout_key)
    out = linear(
        out.transpose(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias
    )
    return (out[:, 0] if unbatched else out), weights


def _projected(
    inputs: list[Array], separate: tuple[Any, ...] | None, weight: Array | None, bias: Array | None
) -> list[Array]:
    """Project query, key and value with separate weights, or with thirds of a stacked weight."""
    if separate is not None:
        weights: Any = separate
    else:
        _check(inputs[1].shape == inputs[2].shape, f"key shape {inputs[1].shape} does not match "
               f"value shape {inputs[2].shape}")  # fmt: skip
        weights = (None,) * 3 if weight is None else jnp.split(array(weight), 3)
    _check(not any(w is None for w in weights), f"use_separate_proj_weight is "
           f"{separate is not None} but its weight is None")  # fmt: skip
    biases = (None,) * 3 if bias is None else jnp.split(array(bias), 3)
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _mask(
    attention: Array | None, padding: Array | None, shape: Sequence[int], appended: int, dtype: Any
) -> Array | None:
    """Combine both masks into a bias that is added to the scores and is 0 for appended keys."""
    batch, heads, length, keys = shape
    masks = []
    for name, mask in {"attn_mask": attention, "key_padding_mask": padding}.items():
        _check(
            mask is None or is_floating(mask) or mask.dtype == jnp.bool_,
            f"only bool and floating types of {name} are supported",
        )
    if attention is not None:
        attention = array(attention, "attn_mask")
        expected = (length, keys) if attention.ndim == 2 else (batch * heads, length, keys)
        if attention.shape != expected:
            raise RuntimeError(
                f"The shape of the {attention.ndim}D attn_mask is {attention.shape}, but should be "
                f"{expected}."
            )
        masks.append(attention if attention.ndim == 2 else attention.reshape(shape))
    if padding is not None:
        padding = array(padding, "key_padding_mask")
        _check(padding.shape == (batch, keys), f"expecting key_padding_mask shape of "
               f"{(batch, keys)}, but got {padding.shape}")  # fmt: skip
        masks.append(padding[:, None, None])
    if not masks:
        return None
    biases = [x if is_floating(x) else jnp.where(x, -jnp.inf, 0).astype(dtype) for x in masks]
    total = sum(biases[1:], biases[0])
    return jnp.pad(total, [(0, 0)] * (total.ndim - 1) + [(0, appended)])


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
