"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 3) -> (N, 3)."""
    return transformer_encoder_layer(p[0], x)


def transformer_encoder_layer(p, src):
    """torch.nn.TransformerEncoderLayer: src (N, 3) -> (N, 3)."""
    x = multihead_attention(p["self_attn"], src, src, src)
    x = F.layer_norm(src + x[0], (3,), **p["norm1"])
    return F.layer_norm(x + ff_block(p, x), (3,), **p["norm2"], eps=0.5)


def multihead_attention(p, query, key, value):
    """torch.nn.MultiheadAttention: query (N, 3), key (N, 3), value (N, 3)."""
    attn_output, _ = F.multi_head_attention_forward(
        query,
        key,
        value,
        embed_dim_to_check=3,
        num_heads=3,
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


def ff_block(p, x):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, 3) -> (N, 3)."""
    return F.linear(jax.nn.relu(F.linear(x, **p["linear1"])), **p["linear2"])

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, 3) -> (N, 3)."""
    return transformer_encoder_layer(p[0], x)


def transformer_encoder_layer(p, src):
    """torch.nn.TransformerEncoderLayer: src (N, 3) -> (N, 3)."""
    x = multihead_attention(p["self_attn"], src, src, src)
    x = F.layer_norm(src + x[0], (3,), **p["norm1"])
    return F.layer_norm(x + ff_block(p, x), (3,), **p["norm2"], eps=0.5)


def multihead_attention(p, query, key, value):
    """torch.nn.MultiheadAttention: query (N, 3), key (N, 3), value (N, 3)."""
    attn_output, _ = F.multi_head_attention_forward(
        query,
        key,
        value,
        embed_dim_to_check=3,
        num_heads=3,
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


def ff_block(p, x):
    """torch.nn.TransformerEncoderLayer._ff_block: x (N, 3) -> (N, 3)."""
    return F.linear(jax.nn.relu(F.linear(x, **p["linear1"])), **p["linear2"])
