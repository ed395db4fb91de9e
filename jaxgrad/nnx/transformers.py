"""Stacks of transformer layers, and the whole transformer."""

from __future__ import annotations

import copy
from typing import Any

import jax.numpy as jnp
from flax import nnx

from jaxgrad import functional
from jaxgrad.nnx import init
from jaxgrad.nnx.containers import ModuleList
from jaxgrad.nnx.module import Array, Dtype, Layer, needed
from jaxgrad.nnx.norms import LayerNorm
from jaxgrad.nnx.transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)


class TransformerEncoder(Layer):
    """Copies of an encoder layer, one after the other.

    Args:
        encoder_layer: The layer to copy; all copies begin with its parameters, as in torch, and
            each draws its own dropout masks.
        num_layers: Number of copies.
        norm: A module that is applied to the output of the last layer.
        enable_nested_tensor: Ignored; it belongs to torch's fast path for inference.
        mask_check: Ignored; it belongs to torch's fast path for inference.

    Raises:
        RuntimeError: `is_causal` is set without `mask`.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = TransformerEncoderLayer(4, 2, 8, 0.0, rngs=nnx.Rngs(0))
        >>> print(TransformerEncoder(layer, 2)(jnp.ones((5, 2, 4), "float32")).shape)
        (5, 2, 4)

    Torch: `torch.nn.TransformerEncoder`.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Any = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        del enable_nested_tensor, mask_check
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, nnx.data(norm)

    def __call__(
        self,
        src: Array,
        mask: Array | None = None,
        src_key_padding_mask: Array | None = None,
        is_causal: bool | None = None,
    ) -> Array:
        output = src
        for layer in self.layers:
            output = layer(output, mask, src_key_padding_mask, bool(is_causal))
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Layer):
    """Copies of a decoder layer, one after the other; see `TransformerEncoder`.

    Args:
        decoder_layer: The layer to copy.
        num_layers: Number of copies.
        norm: A module that is applied to the output of the last layer.

    Raises:
        RuntimeError: A hint such as `tgt_is_causal` is set without the mask.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> layer = TransformerDecoderLayer(4, 2, 8, 0.0, rngs=nnx.Rngs(0))
        >>> decoder = TransformerDecoder(layer, 2)
        >>> print(decoder(jnp.ones((3, 2, 4), "float32"), jnp.ones((5, 2, 4), "float32")).shape)
        (3, 2, 4)

    Torch: `torch.nn.TransformerDecoder`.
    """

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Any = None
    ) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, nnx.data(norm)

    def __call__(
        self,
        tgt: Array,
        memory: Array,
        tgt_mask: Array | None = None,
        memory_mask: Array | None = None,
        tgt_key_padding_mask: Array | None = None,
        memory_key_padding_mask: Array | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Array:
        masks = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, *masks, bool(tgt_is_causal), memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Layer):
    """An encoder of the source and a decoder of the target.

    Args:
        d_model: Size E of source `(S, N, E)` and target `(T, N, E)`.
        nhead: Number of heads.
        num_encoder_layers: Number of layers of the encoder.
        num_decoder_layers: Number of layers of the decoder.
        dim_feedforward: Size of the hidden layer of the feedforward networks.
        dropout: Probability of dropping an attention weight or an element.
        activation: "relu", "gelu", a function or a layer.
        custom_encoder: A module that replaces the encoder.
        custom_decoder: A module that replaces the decoder.
        layer_norm_eps: `eps` of the norms.
        batch_first: Whether the arrays are `(N, S, E)`.
        norm_first: Whether the norms come before attention and feedforward networks.
        bias: Whether the layers have biases.
        dtype: Dtype of the parameters; None means float32.
        rngs: Keys for the parameters (matrices are Xavier-uniform) and for dropout.

    Raises:
        RuntimeError: The batches or features of source and target do not fit.

    Example:
        >>> import jax.numpy as jnp
        >>> from flax import nnx
        >>> model = Transformer(4, 2, 1, 1, 8, 0.0, rngs=nnx.Rngs(0))
        >>> print(model(jnp.ones((5, 2, 4), "float32"), jnp.ones((3, 2, 4), "float32")).shape)
        (3, 2, 4)

    Torch: `torch.nn.Transformer`.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-05,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        dtype: Dtype = None,
        *,
        rngs: nnx.Rngs | None = None,
    ) -> None:
        super().__init__()
        rngs = needed(rngs, "Transformer")
        options: Any = (dim_feedforward, dropout, activation, layer_norm_eps)
        options += (batch_first, norm_first, bias, dtype)
        norm: Any = {"eps": layer_norm_eps, "bias": bias, "dtype": dtype}
        if custom_encoder is None:
            layer = TransformerEncoderLayer(d_model, nhead, *options, rngs=rngs)
            end = LayerNorm(d_model, **norm)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, end)
        if custom_decoder is None:
            layer = TransformerDecoderLayer(d_model, nhead, *options, rngs=rngs)
            end = LayerNorm(d_model, **norm)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, end)
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for _, parameter in nnx.iter_graph(self):
            if isinstance(parameter, nnx.Param) and parameter.ndim > 1:
                x = parameter.get_value()
                parameter[...] = init.xavier_uniform()(rngs.params(), x.shape, x.dtype)

    def __call__(
        self,
        src: Array,
        tgt: Array,
        src_mask: Array | None = None,
        tgt_mask: Array | None = None,
        memory_mask: Array | None = None,
        src_key_padding_mask: Array | None = None,
        tgt_key_padding_mask: Array | None = None,
        memory_key_padding_mask: Array | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Array:
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: Dtype = None) -> Array:
        """Return the causal mask `(sz, sz)` of floats: -inf above the diagonal, 0 elsewhere."""
        above = jnp.triu(jnp.ones((sz, sz), bool), 1)
        return jnp.where(above, -jnp.inf, 0.0).astype(dtype or jnp.float32)


def _copies(layer: Any, count: int) -> ModuleList:
    """Return copies of a layer with the same parameters, each with its own dropout masks."""
    if not isinstance(layer, nnx.Module):
        raise TypeError(f"the layer to copy must be a module, but got {type(layer).__name__}")
    copies: list[Any] = [copy.deepcopy(layer) for _ in range(count)]
    for new in copies:
        _ordered(new, layer)
        for (_, old), (_, part) in zip(nnx.iter_modules(layer), nnx.iter_modules(new), strict=True):
            stream = getattr(old, "rngs", None)
            if isinstance(stream, nnx.RngStream):
                vars(part)["rngs"] = stream.fork()
    return ModuleList(copies)


def _ordered(new: Any, old: Any) -> None:
    """Give a copy the order of attributes, and so of keys, that its original has."""
    attributes = dict(vars(new))
    vars(new).clear()
    vars(new).update({name: attributes[name] for name in vars(old)})
    for name, x in vars(old).items():
        if isinstance(x, nnx.Module):
            _ordered(attributes[name], x)
