"""JAX port of Denoiser (port_collection/generative.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: alphas_cumprod.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def denoiser(p, x0, t, noise):
    """The loss of DDPM on given times and noise.

    Denoiser (port_collection/generative.py:0).

    x0 (N, 1, H, W), t (N,) int, noise (N, 1, H, W) -> (N,).
    """
    xt = q_sample(p, x0, t, noise)
    h = scale_shift_block(p["block"], F.conv2d(xt, **p["stem"]), timestep_embedding(t, dim=6))
    mse_loss = F.mse_loss(F.conv2d(h, **p["out"]), noise, reduction="none")
    return mse_loss.reshape(mse_loss.shape[0], -1).mean(axis=1)


def q_sample(p, x0, t, noise):
    """Denoiser.q_sample (port_collection/generative.py:0).

    x0 (N, 1, H, W), t (N,) int, noise (N, 1, H, W) -> (N, 1, H, W).
    """
    a = F.gather(p["alphas_cumprod"], 0, t).reshape(-1, *[1] * (x0.ndim - 1))
    return jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * noise


def scale_shift_block(p, x, emb):
    """ScaleShiftBlock (port_collection/generative.py:0).

    x (N, 4, H, W), emb (N, 6) -> (N, 4, H, W).
    """
    h = F.conv2d(jax.nn.silu(F.group_norm(x, 2, **p["norm"])), **p["conv1"], padding=1)
    y = F.linear(jax.nn.silu(emb), **p["emb_proj"])
    scale, shift = jnp.split(y[:, :, None, None], 2, axis=1)
    h = h * (1 + scale) + shift
    return x + F.conv2d(jax.nn.silu(h), **p["conv2"], padding=1)


def timestep_embedding(timesteps, *, dim, max_period=10000):
    """timestep_embedding (port_collection/generative.py:0): timesteps (N,) int -> (N, 6)."""
    half = dim // 2
    freqs = jnp.exp(-math.log(max_period) * jnp.arange(half, dtype=jnp.float32) / half)
    args = timesteps[:, None].astype(jnp.float32) * freqs[None]
    return jnp.concatenate([jnp.cos(args), jnp.sin(args)], axis=-1)
