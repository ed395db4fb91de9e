"""Multi-head attention."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.linears import Linear
from jaxgrad.nnx.module import Array, Layer, needed, value


class MultiheadAttention(Layer):
    """Attention of several heads, with projections before and after.

    Args:
        embed_dim: E, of the query `(L, N, E)` or `(L, E)`.
        num_heads: They share E.
        dropout: Of the weights, when training.
        bias: Whether the projections have biases.
        add_bias_kv: A learned key and value at the end of the sequence.
        add_zero_attn: A key and a value of zeros at the end of the sequence.
        kdim: The last dim of the key; None: E.
        vdim: The last dim of the value; None: E.
        batch_first: Inputs and output are `(N, L, E)`.
        dtype: Of the parameters; None: float32.
        rngs: Draws them, and feeds the dropout.

    Returns:
        Of a call: the output, and the weights `(N, L, S)` (of each head with
        `average_attn_weights=False`), or None with `need_weights=False`. A place that sees nothing
        is NaN with the weights and 0 without them, as in torch.

    Raises:
        ValueError: E does not divide into the heads.
        RuntimeError: `is_causal` without a mask.

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
        dtype: Any = None,
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
                f"embed_dim must be divisible by num_heads: {embed_dim} and {num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        widths = (embed_dim, kdim or embed_dim, vdim or embed_dim)
        apart = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if widths == (embed_dim,) * 3:
            shape = (3 * embed_dim, embed_dim)
            self.parameter("in_proj_weight", init.xavier_uniform(), rngs, shape, dtype)
            self.absent(*apart)
        else:
            self.absent("in_proj_weight")
            for name, width in zip(apart, widths, strict=True):
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
        """The projected query, key and value as `(N, heads, L, E / heads)`."""
        if self.in_proj_weight is None:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            weights = [value(getattr(self, name)) for name in names]
        else:
            weights = jnp.split(value(self.in_proj_weight), 3)
        bias = value(self.in_proj_bias)
        biases = [None] * 3 if bias is None else jnp.split(bias, 3)
        made = [functional.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]
        more = [None, value(self.bias_k), value(self.bias_v)]
        made = [
            x if b is None else jnp.concatenate([x, jnp.tile(b, (len(x), 1, 1))], 1)
            for x, b in zip(made, more, strict=True)
        ]
        if self.add_zero_attn:
            made[1:] = [jnp.pad(x, ((0, 0), (0, 1), (0, 0))) for x in made[1:]]
        heads = [x.reshape(*x.shape[:2], self.num_heads, -1) for x in made]
        return [jnp.swapaxes(x, 1, 2) for x in heads]

    def _mask(
        self, q: Array, k: Array, attn_mask: Array | None, padding: Array | None
    ) -> Array | None:
        """What is added to the scores `(N, heads, L, S)`: booleans are -inf where they are true."""
        extra = k.shape[2]
        total = None
        if attn_mask is not None:
            mask = _added(attn_mask, q.dtype)
            if mask.ndim == 3:
                mask = mask.reshape(-1, self.num_heads, *mask.shape[1:])
            total = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, extra - mask.shape[-1])])
        if padding is not None:
            mask = _added(padding, q.dtype)
            mask = jnp.pad(mask, ((0, 0), (0, extra - mask.shape[-1])))[:, None, None]
            total = mask if total is None else total + mask
        return total


def _added(mask: Array, dtype: Any) -> Array:
    if mask.dtype == jnp.bool_:
        return jnp.where(mask, -jnp.inf, 0.0).astype(dtype)
    return mask.astype(dtype)
