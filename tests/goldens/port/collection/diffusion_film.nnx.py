"""JAX port of Denoiser (port_collection/generative.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, GroupNorm, Linear

F = functional.at("2.13")


class Denoiser(nnx.Module):
    """The loss of DDPM on given times and noise.

    Denoiser (port_collection/generative.py:0).

    `jaxgrad.nnx.load_state_dict` sets `alphas_cumprod`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.alphas_cumprod = nnx.BatchStat(jnp.empty(10, jnp.float32))
        self.stem = Conv2d(1, 4, 1, rngs=rngs)
        self.block = ScaleShiftBlock(rngs=rngs)
        self.out = Conv2d(4, 1, 1, rngs=rngs)

    def __call__(self, x0, t, noise):
        xt = self.q_sample(x0, t, noise)
        h = self.block(self.stem(xt), timestep_embedding(t, dim=6))
        mse_loss = F.mse_loss(self.out(h), noise, reduction="none")
        return mse_loss.reshape(mse_loss.shape[0], -1).mean(axis=1)

    def q_sample(self, x0, t, noise):
        a = F.gather(self.alphas_cumprod[...], 0, t).reshape(-1, *[1] * (x0.ndim - 1))
        return jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * noise


class ScaleShiftBlock(nnx.Module):
    """ScaleShiftBlock (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.norm = GroupNorm(2, 4)
        self.conv1 = Conv2d(4, 4, 3, padding=1, rngs=rngs)
        self.emb_proj = Linear(6, 8, rngs=rngs)
        self.conv2 = Conv2d(4, 4, 3, padding=1, rngs=rngs)

    def __call__(self, x, emb):
        h = self.conv1(jax.nn.silu(self.norm(x)))
        scale, shift = jnp.split(self.emb_proj(jax.nn.silu(emb))[:, :, None, None], 2, axis=1)
        h = h * (1 + scale) + shift
        return x + self.conv2(jax.nn.silu(h))


def timestep_embedding(timesteps, *, dim, max_period=10000):
    """timestep_embedding (port_collection/generative.py:0)."""
    half = dim // 2
    freqs = jnp.exp(-math.log(max_period) * jnp.arange(half, dtype=jnp.float32) / half)
    args = timesteps[:, None].astype(jnp.float32) * freqs[None]
    embedding = jnp.concatenate([jnp.cos(args), jnp.sin(args)], axis=-1)
    return embedding
