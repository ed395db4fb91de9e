"""JAX port of SwinBlock (port_collection/vision.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: attn/relative_position_index.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def swin_block(p, x, *, shift_size=1, window_size=2):
    """Shifted windows over a map whose size is a multiple of the window.

    SwinBlock (port_collection/vision.py:0): x (B, H, W, 4) -> (B, H, W, 4).
    """
    _, H, W, _ = x.shape
    shortcut = x
    shifted = jnp.roll(
        F.layer_norm(x, x.shape[-1:], **p["norm1"]), (-shift_size, -shift_size), axis=(1, 2)
    )
    windows = window_attention(p["attn"], window_partition(shifted, window_size=window_size))
    shifted = window_reverse(windows, H, W, window_size=window_size)
    x = shortcut + jnp.roll(shifted, (shift_size, shift_size), axis=(1, 2))
    return x + mlp(p["mlp"], F.layer_norm(x, x.shape[-1:], **p["norm2"]))


def window_attention(p, x, *, num_heads=2):
    """WindowAttention (port_collection/vision.py:0): x (B_, 4, 4) -> (B_, 4, 4)."""
    B_, N, C = x.shape
    qkv = F.linear(x, **p["qkv"]).reshape(B_, N, 3, num_heads, C // num_heads)
    q, k, v = jnp.unstack(qkv.transpose(2, 0, 3, 1, 4), axis=0)
    attn = (q * q.shape[-1] ** -0.5) @ k.swapaxes(-2, -1)
    bias = p["relative_position_bias_table"][p["relative_position_index"].reshape(-1)]
    bias = bias.reshape(N, N, -1).transpose(2, 0, 1)
    attn = jax.nn.softmax(attn + jnp.expand_dims(bias, 0), axis=-1)
    return F.linear((attn @ v).swapaxes(1, 2).reshape(B_, N, C), **p["proj"])


def window_partition(x, *, window_size):
    """(B, H, W, C) -> (B * windows, window_size ** 2, C).

    window_partition (port_collection/vision.py:0): x (B, H, W, 4) -> (B*H*W//4, 4, 4).
    """
    B, H, W, C = x.shape
    x = x.reshape(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, window_size * window_size, C)


def window_reverse(windows, H, W, *, window_size):
    """window_reverse (port_collection/vision.py:0): windows (B*H*W//4, 4, 4) -> (B, H, W, 4)."""
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.reshape(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


def mlp(p, x):
    """SwinBlock.mlp (port_collection/vision.py:0): x (B, H, W, 4) -> (B, H, W, 4)."""
    x = F.linear(x, **p[0])
    x = F.gelu(x)
    return F.linear(x, **p[2])
