"""Multi-head attention."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.linears import Linear
from jaxgrad.nnx.module import Array, Dtype, Layer, needed, value


class MultiheadAttention(Layer):
    """Multi-head attention, with a projection of every input and of the output.

    Args:
        embed_dim: Size E of the query, `(L, N, E)` or `(L, E)`.
        num_heads: Number of heads, each of size `E / num_heads`.
        dropout: Probability of dropping an attention weight in training.
        bias: Whether the projections have biases.
        add_bias_kv: Whether to append a learned key and value to the sequence.
        add_zero_attn: Whether to append a key and a value of zeros to the sequence.
        kdim: Size of the key; None means E.
        vdim: Size of the value; None means E.
        batch_first: Whether inputs and output are `(N, L, E)`.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for the parameters and for dropout.

    Returns:
        A call returns the output and the weights: `(N, L, S)`, averaged over heads, or one matrix
        per head with `average_attn_weights=False`, or None with `need_weights=False`. As in torch,
        a fully masked query gives NaN if the weights are returned and 0 otherwise.

    Raises:
        ValueError: `embed_dim` is not divisible by `num_heads`.
        RuntimeError: `is_causal` is set without `attn_mask`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> x = jnp.ones((5, 2, 4), "float32")
        >>> out, weights = MultiheadAttention(4, 2, rngs=nnx.Rngs(0))(x, x, x)
        >>> print(out.shape, weights.shape)
        (5, 2, 4) (2, 5, 5)

    Torch: `torch.nn.MultiheadAttention`.
    """

    in_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any
    rngs: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "MultiheadAttention")
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be divisible by num_heads: got {embed_dim} and {num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        separate = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if widths == (embed_dim,) * 3:
            shape = (3 * embed_dim, embed_dim)
            self.parameter("in_proj_weight", init.xavier_uniform(), rngs, shape, dtype)
            self.absent(*separate)
        else:
            self.absent("in_proj_weight")
            for name, width in zip(separate, widths, strict=True):
                self.parameter(name, init.xavier_uniform(), rngs, (embed_dim, width), dtype)
        if bias:
            self.parameter("in_proj_bias", init.zeros(), rngs, (3 * embed_dim,), dtype)
        else:
            self.absent("in_proj_bias")
        for name in ("bias_k", "bias_v"):
            if add_bias_kv:
                self.parameter(name, init.xavier_normal(), rngs, (1, 1, embed_dim), dtype)
            else:
                self.absent(name)
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype, rngs=rngs)
        if bias:
            self.out_proj.bias[...] = jnp.zeros_like(self.out_proj.bias[...])
        self.rngs = rngs.dropout.fork() if dropout else nnx.data(None)

    def __call__(
        self,
        query: Array,
        key: Array,
        value: Array,
        key_padding_mask: Array | None = None,
        need_weights: bool = True,
        attn_mask: Array | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Array, Array | None]:
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = query.ndim == 3
        inputs = [query, key, value]
        if not batched:
            inputs = [x[None] for x in inputs]
            key_padding_mask = None if key_padding_mask is None else key_padding_mask[None]
        elif not self.batch_first:
            inputs = [jnp.swapaxes(x, 0, 1) for x in inputs]
        q, k, v = self._heads(inputs)
        mask = self._mask(q, k, attn_mask, key_padding_mask)
        drop = self.dropout if self.training else 0.0
        dropout_key = self.rngs() if drop else None
        weights = None
        if need_weights:
            scores = (q / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))) @ jnp.swapaxes(k, -1, -2)
            weights = functional.softmax(scores if mask is None else scores + mask, -1)
            if drop:
                weights = functional.dropout(weights, drop, key=dropout_key)
            out = weights @ v
        else:
            out = functional.scaled_dot_product_attention(
                q, k, v, mask, drop, dropout_key=dropout_key
            )
        out = self.out_proj(jnp.swapaxes(out, 1, 2).reshape(*inputs[0].shape[:2], self.embed_dim))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return out[0], None if weights is None else weights[0]
        return (out if self.batch_first else jnp.swapaxes(out, 0, 1)), weights

    def _heads(self, inputs: list[Array]) -> list[Array]:
        """Return the projected query, key and value as `(N, heads, L, E / heads)`."""
        if self.in_proj_weight is None:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            weights = [value(getattr(self, name)) for name in names]
        else:
            weights = jnp.split(value(self.in_proj_weight), 3)
        bias = value(self.in_proj_bias)
        biases = [None] * 3 if bias is None else jnp.split(bias, 3)
        qkv = [functional.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]
        appended = [None, value(self.bias_k), value(self.bias_v)]
        qkv = [
            x if b is None else jnp.concatenate([x, jnp.tile(b, (len(x), 1, 1))], 1)
            for x, b in zip(qkv, appended, strict=True)
        ]
        if self.add_zero_attn:
            qkv[1:] = [jnp.pad(x, ((0, 0), (0, 1), (0, 0))) for x in qkv[1:]]
        heads = [x.reshape(*x.shape[:2], self.num_heads, -1) for x in qkv]
        return [jnp.swapaxes(x, 1, 2) for x in heads]

    def _mask(
        self, q: Array, k: Array, attn_mask: Array | None, padding: Array | None
    ) -> Array | None:
        """Return the sum of both masks, to be added to the scores `(N, heads, L, S)`, or None."""
        keys = k.shape[2]
        total = None
        if attn_mask is not None:
            mask = _additive(attn_mask, q.dtype)
            if mask.ndim == 3:
                mask = mask.reshape(-1, self.num_heads, *mask.shape[1:])
            total = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])])
        if padding is not None:
            mask = _additive(padding, q.dtype)
            mask = jnp.pad(mask, ((0, 0), (0, keys - mask.shape[-1])))[:, None, None]
            total = mask if total is None else total + mask
        return total


def _additive(mask: Array, dtype: Dtype) -> Array:
    """Return a mask of floats: a boolean mask is -inf where it is True."""
    if mask.dtype == jnp.bool_:
        return jnp.where(mask, -jnp.inf, 0.0).astype(dtype)
    return mask.astype(dtype)
