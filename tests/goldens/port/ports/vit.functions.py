"""JAX port of VisionTransformer (ports/vit.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional

F = functional.at("2.13")


def vision_transformer(p, images, *, rng=None, training=False):
    """VisionTransformer (ports/vit.py:0).

    images (N, 3, 12, 12) -> {classes (N, 5), domain (N, 2)}.
    """
    x = F.conv2d(images, **p["patch_embed"], stride=4)
    x = x.reshape(*x.shape[:2], -1).swapaxes(1, 2)
    y = jnp.broadcast_to(p["cls_token"], (x.shape[0], *p["cls_token"].shape[1:]))
    x = jnp.concatenate([y, x], axis=1) + p["pos_embed"]
    x = F.layer_norm(blocks(p["blocks"], x, rng=rng, training=training), (16,), **p["norm"])[:, 0]
    return {
        "classes": F.linear(x, **p["head"]),
        "domain": domain_head(p["domain_head"], gradient_reversal(x)),
    }


def blocks(p, x, *, rng, training):
    """VisionTransformer.blocks (ports/vit.py:0): x (N, 10, 16) -> (N, 10, 16)."""
    for module, module_rng in zip(p, split_rng(rng, len(p))):
        x = encoder_block(module, x, rng=module_rng, training=training)
    return x


def encoder_block(p, x, *, rng, training):
    """EncoderBlock (ports/vit.py:0): x (N, 10, 16) -> (N, 10, 16)."""
    y = F.layer_norm(x, x.shape[-1:], **p["norm1"])
    attn_rng, mlp_rng = split_rng(rng)
    x = x + multihead_attention(p["attn"], y, rng=attn_rng, training=training)
    return x + mlp(
        p["mlp"], F.layer_norm(x, x.shape[-1:], **p["norm2"]), rng=mlp_rng, training=training
    )


def multihead_attention(p, x, *, rng, training):
    """torch.nn.MultiheadAttention: x (N, 10, 16) -> (N, 10, 16)."""
    qkv = F.linear(x, p["in_proj_weight"], p["in_proj_bias"])
    q, k, v = [y.reshape(*y.shape[:2], 4, -1).swapaxes(1, 2) for y in jnp.split(qkv, 3, axis=-1)]
    attn_output = F.scaled_dot_product_attention(
        q, k, v, dropout_p=0.1 if training else 0.0, dropout_key=rng
    )
    attn_output = attn_output.swapaxes(1, 2).reshape(x.shape)
    return F.linear(attn_output, **p["out_proj"])


def mlp(p, x, *, rng, training):
    """EncoderBlock.mlp (ports/vit.py:0): x (N, 10, 16) -> (N, 10, 16)."""
    x = F.linear(x, **p[0])
    x = F.gelu(x)
    x = F.dropout(x, p=0.1, training=training, key=rng)
    return F.linear(x, **p[3])


def domain_head(p, x):
    """VisionTransformer.domain_head (ports/vit.py:0): x (N, 16) -> (N, 2)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])


def gradient_reversal(x, *, alpha=0.5):
    """GradientReversal (ports/vit.py:0): x (N, 16) -> (N, 16)."""
    return Reverse(x, alpha)


@jaxgrad.from_function
class Reverse:
    """Reverse (ports/vit.py:0)."""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.reshape(x.shape)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.alpha * grad, None


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
