"""JAX port of Diffusion (ports/diffusion.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, GroupNorm, Linear

F = functional.at("2.13")


class Diffusion(nnx.Module):
    """Diffusion (ports/diffusion.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = UNet(rngs=rngs)

    def __call__(self, image, noise, t):
        alpha = jnp.cos(0.5 * math.pi * t)[:, None, None, None]
        sigma = jnp.sin(0.5 * math.pi * t)[:, None, None, None]
        noised = alpha * image + sigma * noise
        v = self.net(noised, t, jnp.zeros_like(image))
        guess = lax.stop_gradient(alpha * noised - sigma * v)
        v = self.net(noised, t, guess)
        error = jnp.square(v - (alpha * noise - sigma * image)).mean(axis=(1, 2, 3))
        weight = F.clamp(jnp.square(alpha / sigma).reshape(-1), max=5.0)
        return (weight * error).mean()


class UNet(nnx.Module):
    """UNet (ports/diffusion.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.time1 = Linear(4, 4, dtype=jnp.float64, rngs=rngs)
        self.time2 = Linear(4, 8, dtype=jnp.float64, rngs=rngs)
        self.conv_in = Conv2d(4, 4, 3, padding=1, dtype=jnp.float64, rngs=rngs)
        self.norm = GroupNorm(2, 4, dtype=jnp.float64)
        self.down = Conv2d(4, 4, 3, stride=2, padding=1, dtype=jnp.float64, rngs=rngs)
        self.up = Conv2d(4, 4, 3, padding=1, dtype=jnp.float64, rngs=rngs)
        self.conv_out = Conv2d(8, 2, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, x, t, condition):
        frequencies = jnp.exp(-math.log(10000.0) * jnp.arange(2, dtype=x.dtype) / 2)
        angles = t[:, None] * frequencies
        embedding = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        embedding = self.time2(jax.nn.silu(self.time1(embedding)))
        scale, shift = jnp.split(embedding[..., None, None], 2, axis=1)
        skip = self.conv_in(jnp.concatenate([x, condition], axis=1))
        h = jax.nn.silu(self.norm(skip) * (1 + scale) + shift)
        h = jax.nn.silu(self.down(h))
        h = self.up(F.interpolate(h, scale_factor=2))
        return self.conv_out(jnp.concatenate([h, skip], axis=1))
