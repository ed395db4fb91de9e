"""JAX port of SwinBlock (port_collection/vision.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import LayerNorm, Linear

F = functional.at("2.13")


class SwinBlock(nnx.Module):
    """Shifted windows over a map whose size is a multiple of the window.

    SwinBlock (port_collection/vision.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.shift_size = 1
        self.window_size = 2
        self.norm1 = LayerNorm(4)
        self.norm2 = LayerNorm(4)
        self.attn = WindowAttention(rngs=rngs)
        self.mlp = nnx.Sequential(Linear(4, 8, rngs=rngs), F.gelu, Linear(8, 4, rngs=rngs))

    def __call__(self, x):
        _, H, W, _ = x.shape
        shortcut = x
        shifted = jnp.roll(self.norm1(x), (-self.shift_size, -self.shift_size), axis=(1, 2))
        windows = self.attn(window_partition(shifted, window_size=self.window_size))
        shifted = window_reverse(windows, H, W, window_size=self.window_size)
        x = shortcut + jnp.roll(shifted, (self.shift_size, self.shift_size), axis=(1, 2))
        return x + self.mlp(self.norm2(x))


class WindowAttention(nnx.Module):
    """WindowAttention (port_collection/vision.py:0).

    `jaxgrad.nnx.load_state_dict` sets `relative_position_bias_table` and
    `relative_position_index`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.num_heads = 2
        self.scale = 2**-0.5
        self.relative_position_bias_table = nnx.Param(jnp.empty((9, 2), jnp.float32))
        self.relative_position_index = nnx.BatchStat(jnp.empty((4, 4), int))
        self.qkv = Linear(4, 12, rngs=rngs)
        self.proj = Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape(B_, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = jnp.unstack(qkv.transpose(2, 0, 3, 1, 4), axis=0)
        attn = (q * self.scale) @ k.swapaxes(-2, -1)
        bias = self.relative_position_bias_table[...][self.relative_position_index[...].reshape(-1)]
        bias = bias.reshape(N, N, -1).transpose(2, 0, 1)
        attn = jax.nn.softmax(attn + jnp.expand_dims(bias, 0), axis=-1)
        return self.proj((attn @ v).swapaxes(1, 2).reshape(B_, N, C))


def window_reverse(windows, H, W, *, window_size):
    """window_reverse (port_collection/vision.py:0)."""
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.reshape(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(B, H, W, -1)


def window_partition(x, *, window_size):
    """(B, H, W, C) -> (B * windows, window_size ** 2, C).

    window_partition (port_collection/vision.py:0).
    """
    B, H, W, C = x.shape
    x = x.reshape(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.transpose(0, 1, 3, 2, 4, 5).reshape(-1, window_size * window_size, C)
