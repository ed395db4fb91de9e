"""JAX port of Diffusion (ports/diffusion.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def diffusion(p, image, noise, t):
    """Diffusion (ports/diffusion.py:0): image (N, 2, H, W), noise (N, 2, H, W), t (N,) -> ()."""
    alpha = jnp.cos(0.5 * math.pi * t)[:, None, None, None]
    sigma = jnp.sin(0.5 * math.pi * t)[:, None, None, None]
    noised = alpha * image + sigma * noise
    v = unet(p["net"], noised, t, jnp.zeros_like(image))
    guess = lax.stop_gradient(alpha * noised - sigma * v)
    v = unet(p["net"], noised, t, guess)
    error = jnp.square(v - (alpha * noise - sigma * image)).mean(axis=(1, 2, 3))
    weight = F.clamp(jnp.square(alpha / sigma).reshape(-1), max=5.0)
    return (weight * error).mean()


def unet(p, x, t, condition):
    """UNet (ports/diffusion.py:0).

    x (N, 2, H, W), t (N,), condition (N, 2, H, W) -> (N, 2, H, W).
    """
    frequencies = jnp.exp(-math.log(10000.0) * jnp.arange(2, dtype=x.dtype) / 2)
    angles = t[:, None] * frequencies
    embedding = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
    embedding = F.linear(jax.nn.silu(F.linear(embedding, **p["time1"])), **p["time2"])
    scale, shift = jnp.split(embedding[..., None, None], 2, axis=1)
    skip = F.conv2d(jnp.concatenate([x, condition], axis=1), **p["conv_in"], padding=1)
    h = jax.nn.silu(F.group_norm(skip, 2, **p["norm"]) * (1 + scale) + shift)
    h = jax.nn.silu(F.conv2d(h, **p["down"], stride=2, padding=1))
    h = F.conv2d(F.interpolate(h, scale_factor=2), **p["up"], padding=1)
    return F.conv2d(jnp.concatenate([h, skip], axis=1), **p["conv_out"])
