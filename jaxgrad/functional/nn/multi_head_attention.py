"""Attention in heads with its projections, as `torch.nn.MultiheadAttention` calls it."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from jaxgrad._core.typing import Array
from jaxgrad.functional._core.arguments import array, is_floating
from jaxgrad.functional._core.dtypes import reject, require_same_dtype
from jaxgrad.functional.activation.dropout import dropout
from jaxgrad.functional.activation.softmax import softmax
from jaxgrad.functional.linalg.matmul import matmul
from jaxgrad.functional.nn.attention import scaled_dot_product_attention
from jaxgrad.functional.nn.linear import linear
from jaxgrad.functional.reduction.sum import mean


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
    """Project, attend in each head, project back.

    Args:
        query: `(L, N, E)`, or `(L, E)` without a batch.
        key: `(S, N, E)`, or of another last dim with separate weights.
        value: As the key.
        embed_dim_to_check: E.
        num_heads: How many parts E has.
        in_proj_weight: `(3 * E, E)`: of query, key and value.
        in_proj_bias: `(3 * E,)`.
        bias_k: `(1, 1, E)`: one more projected key.
        bias_v: One more projected value.
        add_zero_attn: One more key and value of zeros.
        dropout_p: The probability of dropping a weight.
        out_proj_weight: `(E, E)`.
        out_proj_bias: `(E,)`.
        training: False: no dropout.
        key_padding_mask: `(N, S)`. Booleans: True is left out. Floats are added.
        need_weights: Return them; a row that is masked in full is then NaN, else 0.
        attn_mask: `(L, S)` or `(N * num_heads, L, S)`, likewise.
        use_separate_proj_weight: Take the three weights, not `in_proj_weight`.
        q_proj_weight: `(E, E)`.
        k_proj_weight: `(E, key's)`.
        v_proj_weight: `(E, value's)`.
        static_k: `(N * num_heads, S, E / num_heads)`, in place of the projected keys.
        static_v: In place of the projected values.
        average_attn_weights: The weights' mean over the heads.
        is_causal: A hint that `attn_mask` is causal, which must be there.
        dropout_key: A key of `jax.random`, where `dropout_p` is not 0.

    Returns:
        `(L, N, E)` and the weights, `(N, L, S)` or `(N, num_heads, L, S)`; or None.

    Raises:
        AssertionError: The dims, the weights or the biases do not fit.
        RuntimeError: A mask's shape does not fit, or `is_causal` is without a mask.

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
    single = inputs[0].ndim == 2
    if single:
        inputs = [x[:, None] for x in inputs]
        key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
    length, batch, width = inputs[0].shape
    _check(width == embed_dim_to_check, f"was expecting embedding dimension of "
           f"{embed_dim_to_check}, but got {width}")  # fmt: skip
    _check(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint; pass the mask as well")
    if use_separate_proj_weight:
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        _check(inputs[1].shape == inputs[2].shape, f"key shape {inputs[1].shape} does not match "
               f"value shape {inputs[2].shape}")  # fmt: skip
        weights = (None,) * 3 if in_proj_weight is None else jnp.split(array(in_proj_weight), 3)
    _check(not any(w is None for w in weights), f"use_separate_proj_weight is "
           f"{use_separate_proj_weight} but its weight is None")  # fmt: skip
    biases = (None,) * 3 if in_proj_bias is None else jnp.split(array(in_proj_bias), 3)
    q, k, v = (linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))

    _check((bias_k is None) == (bias_v is None), "bias_k is set but bias_v is None, or the other")
    more = int(bias_k is not None) + int(add_zero_attn)
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
    free = is_causal and key_padding_mask is None and not need_weights
    shape = (batch, num_heads, length, k.shape[2] - more)
    mask = _mask(None if free else attn_mask, key_padding_mask, shape, more, q.dtype)

    p = dropout_p if training else 0.0
    seen = None
    if need_weights:
        require_same_dtype("multi_head_attention_forward", query=q, mask=mask)
        scores = matmul(q * math.sqrt(1 / q.shape[-1]), jnp.swapaxes(k, -1, -2))
        seen = dropout(softmax(scores if mask is None else scores + mask, -1), p, key=dropout_key)
        out = matmul(seen, v)
        seen = mean(seen, 1) if average_attn_weights else seen
        seen = seen[0] if single else seen
    else:
        out = scaled_dot_product_attention(q, k, v, mask, p, free, dropout_key=dropout_key)
    out = linear(
        out.transpose(2, 0, 1, 3).reshape(length, batch, width), out_proj_weight, out_proj_bias
    )
    return (out[:, 0] if single else out), seen


def _mask(
    attention: Array | None,
    padding: Array | None,
    shape: tuple[int, int, int, int],
    more: int,
    dtype: Any,
) -> Array | None:
    """Both masks as what is added to the scores; what was appended to the keys is seen."""
    batch, heads, length, keys = shape
    added = []
    for name, given in {"attn_mask": attention, "key_padding_mask": padding}.items():
        _check(
            given is None or is_floating(given) or given.dtype == jnp.bool_,
            f"only bool and floating types of {name} are supported",
        )
    if attention is not None:
        attention = array(attention, "attn_mask")
        fits = (length, keys) if attention.ndim == 2 else (batch * heads, length, keys)
        if attention.shape != fits:
            raise RuntimeError(
                f"The shape of the {attention.ndim}D attn_mask is {attention.shape}, but should be "
                f"{fits}."
            )
        added.append(attention if attention.ndim == 2 else attention.reshape(shape))
    if padding is not None:
        padding = array(padding, "key_padding_mask")
        _check(padding.shape == (batch, keys), f"expecting key_padding_mask shape of "
               f"{(batch, keys)}, but got {padding.shape}")  # fmt: skip
        added.append(padding[:, None, None])
    if not added:
        return None
    numbers = [x if is_floating(x) else jnp.where(x, -jnp.inf, 0).astype(dtype) for x in added]
    total = sum(numbers[1:], numbers[0])
    return jnp.pad(total, [(0, 0)] * (total.ndim - 1) + [(0, more)])


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
