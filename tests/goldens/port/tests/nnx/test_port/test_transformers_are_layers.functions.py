"""JAX port of Attending (nnx/test_port.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.

The torch program branches on these tests; the port assumes that they hold:
- not (src.shape[1] != tgt.shape[1] and False) (transformer.py:0)
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def attending(p, x):
    """Attending (nnx/test_port.py:0): x (N, 3) -> (N, 3)."""
    output = x
    for mod in p["encoder"]["layers"]:
        output = transformer_encoder_layer(mod, output)
    return transformer(p["both"], F.prelu(output, **p["act"]), x)


def transformer_encoder_layer(p, src):
    """torch.nn.TransformerEncoderLayer: src (N, 3) -> (N, 3)."""
    x = multihead_attention(p["self_attn"], src, src, src, num_heads=3)
    x = F.layer_norm(src + x[0], (3,), **p["norm1"])
    return F.layer_norm(x + transformer_encoder_layer_ff_block(p, x), (3,), **p["norm2"])


def transformer_encoder_layer_ff_block(p, x):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, 3) -> (N, 3)."""
    return F.linear(F.gelu(F.linear(x, **p["linear1"])), **p["linear2"])


def transformer(p, src, tgt):
    """torch.nn.Transformer: src (N, 3), tgt (N, 3) -> (N, 3)."""
    assert not (src.shape[1] != tgt.shape[1] and False), (
        "this port holds for not (src.shape[1] != tgt.shape[1] and False): torch takes another "
        "branch otherwise (transformer.py:0)"
    )
    memory = transformer_encoder(p["encoder"], src)
    return transformer_decoder(p["decoder"], tgt, memory)


def transformer_encoder(p, src):
    """torch.nn.TransformerEncoder: src (N, 3) -> (N, 3)."""
    output = both_transformer_encoder_layer(p["layers"][0], src)
    return F.layer_norm(output, output.shape[-1:], **p["norm"])


def both_transformer_encoder_layer(p, src):
    """torch.nn.TransformerEncoderLayer: src (N, 3) -> (N, 3)."""
    x = multihead_attention(p["self_attn"], src, src, src, num_heads=1)
    x = F.layer_norm(src + x[0], (3,), **p["norm1"])
    return F.layer_norm(x + both_transformer_encoder_layer_ff_block(p, x), (3,), **p["norm2"])


def both_transformer_encoder_layer_ff_block(p, x):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, 3) -> (N, 3)."""
    return F.linear(jax.nn.relu(F.linear(x, **p["linear1"])), **p["linear2"])


def transformer_decoder(p, tgt, memory):
    """torch.nn.TransformerDecoder: tgt (N, 3), memory (N, 3) -> (N, 3)."""
    output = transformer_decoder_layer(p["layers"][0], tgt, memory)
    return F.layer_norm(output, output.shape[-1:], **p["norm"])


def transformer_decoder_layer(p, tgt, memory):
    """torch.nn.TransformerDecoderLayer: tgt (N, 3), memory (N, 3) -> (N, 3)."""
    x = multihead_attention(p["self_attn"], tgt, tgt, tgt, num_heads=1)
    x = F.layer_norm(tgt + x[0], (3,), **p["norm1"])
    x = x + multihead_attention(p["multihead_attn"], x, memory, memory, num_heads=1)[0]
    x = F.layer_norm(x, x.shape[-1:], **p["norm2"])
    return F.layer_norm(x + transformer_decoder_layer_ff_block(p, x), (3,), **p["norm3"])


def multihead_attention(p, query, key, value, *, num_heads):
    """torch.nn.MultiheadAttention: query (N, 3), key (N, 3), value (N, 3)."""
    attn_output, _ = F.multi_head_attention_forward(
        query,
        key,
        value,
        embed_dim_to_check=3,
        num_heads=num_heads,
        in_proj_weight=p["in_proj_weight"],
        in_proj_bias=p["in_proj_bias"],
        bias_k=None,
        bias_v=None,
        add_zero_attn=False,
        dropout_p=0.0,
        out_proj_weight=p["out_proj"]["weight"],
        out_proj_bias=p["out_proj"]["bias"],
        need_weights=False,
    )
    return attn_output, None


def transformer_decoder_layer_ff_block(p, x):
    """torch.nn.TransformerDecoderLayer._ff_block: x (N, 3) -> (N, 3)."""
    return F.linear(jax.nn.relu(F.linear(x, **p["linear1"])), **p["linear2"])
