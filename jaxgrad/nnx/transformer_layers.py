"""The layers of a transformer's encoder and decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx.attention import MultiheadAttention
from jaxgrad.nnx.dropouts import Dropout
from jaxgrad.nnx.linears import Linear
from jaxgrad.nnx.module import Array, Dtype, Layer, needed
from jaxgrad.nnx.norms import LayerNorm


Activation = str | Callable[[Array], Array]


class _TransformerLayer(Layer):
    """Base class of both layers: self-attention and a feedforward network."""

    activation: Any
    norms: int  # the number of normalisations, each with a dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-05,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, type(self).__name__)
        attention = {"bias": bias, "batch_first": batch_first, "dtype": dtype, "rngs": rngs}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, **attention)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype, rngs=rngs)
        self.dropout = Dropout(dropout, rngs=rngs)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype, rngs=rngs)
        self.norm_first = norm_first
        for n in range(1, self.norms + 1):
            setattr(self, f"norm{n}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for n in range(1, self.norms + 1):
            setattr(self, f"dropout{n}", Dropout(dropout, rngs=rngs))
        self.activation = _function(activation) if isinstance(activation, str) else activation

    def _residual(self, n: int, x: Array, block: Callable[[Array], Array]) -> Array:
        """Add the dropped-out output of a block, and normalise before or after it."""
        norm, dropout = getattr(self, f"norm{n}"), getattr(self, f"dropout{n}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))

    def _feedforward(self, x: Array) -> Array:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feedforward network, each with a residual connection and a norm.

    torch's fast path for inference (eval mode without gradients) returns zeros for padded
    positions; this layer computes them as torch does with gradients.

    Args:
        d_model: Size E of the input, `(S, N, E)` or `(S, E)`.
        nhead: Number of heads.
        dim_feedforward: Size of the hidden layer of the feedforward network.
        dropout: Probability of dropping an attention weight or an element.
        activation: "relu", "gelu", a function or a layer.
        layer_norm_eps: `eps` of the norms.
        batch_first: Whether input and output are `(N, S, E)`.
        norm_first: Whether the norms come before attention and feedforward network.
        bias: Whether the layers have biases.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for the parameters and for dropout.

    Raises:
        RuntimeError: `activation` is an unknown name, or `is_causal` is set without `src_mask`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = TransformerEncoderLayer(4, 2, 8, 0.0, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((5, 2, 4), "float32")).shape)
        (5, 2, 4)

    Torch: `torch.nn.TransformerEncoderLayer`.
    """

    norms = 2

    def __call__(
        self,
        src: Array,
        src_mask: Array | None = None,
        src_key_padding_mask: Array | None = None,
        is_causal: bool = False,
    ) -> Array:
        def attend(x: Array) -> Array:
            options = (src_key_padding_mask, False, src_mask)
            return self.self_attn(x, x, x, *options, is_causal=is_causal)[0]

        return self._residual(2, self._residual(1, src, attend), self._feedforward)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's output, and a feedforward network.

    The arguments are those of `TransformerEncoderLayer`. A call takes the target `(T, N, E)` and
    the memory `(S, N, E)`.

    Raises:
        RuntimeError: `activation` is an unknown name, or `is_causal` is set without a mask.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = TransformerDecoderLayer(4, 2, 8, 0.0, rngs=nnx.Rngs(0))
        >>> print(layer(jnp.ones((3, 2, 4), "float32"), jnp.ones((5, 2, 4), "float32")).shape)
        (3, 2, 4)

    Torch: `torch.nn.TransformerDecoderLayer`.
    """

    norms = 3

    def __call__(
        self,
        tgt: Array,
        memory: Array,
        tgt_mask: Array | None = None,
        memory_mask: Array | None = None,
        tgt_key_padding_mask: Array | None = None,
        memory_key_padding_mask: Array | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Array:
        def attend(x: Array) -> Array:
            options = (tgt_key_padding_mask, False, tgt_mask)
            return self.self_attn(x, x, x, *options, is_causal=tgt_is_causal)[0]

        def attend_to_memory(x: Array) -> Array:
            options = (memory_key_padding_mask, False, memory_mask)
            return self.multihead_attn(x, memory, memory, *options, is_causal=memory_is_causal)[0]

        x = self._residual(2, self._residual(1, tgt, attend), attend_to_memory)
        return self._residual(3, x, self._feedforward)


def _function(name: str) -> Callable[[Array], Array]:
    """Return the activation with this name."""
    if name == "relu":
        return functional.relu
    if name == "gelu":
        return functional.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {name}")
