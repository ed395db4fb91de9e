"""JAX port of NeRF (port_collection/points.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class NeRF(nnx.Module):
    """A radiance field and the volume rendering of its rays.

    NeRF (port_collection/points.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.frequencies = 2
        self.near = 2.0
        self.far = 6.0
        self.pts_linears = nnx.List(
            [Linear(15, 6, rngs=rngs), Linear(6, 6, rngs=rngs), Linear(21, 6, rngs=rngs)]
        )
        self.alpha_linear = Linear(6, 1, rngs=rngs)
        self.rgb_linear = Linear(6, 3, rngs=rngs)

    def __call__(self, rays_o, rays_d, t_vals):
        z_vals = self.near * (1.0 - t_vals) + self.far * t_vals
        pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
        embedded = self.embed(pts)
        h = embedded
        h = jax.nn.relu(self.pts_linears[0](h))
        h = jax.nn.relu(self.pts_linears[1](h))
        h = jnp.concatenate([embedded, h], axis=-1)
        h = jax.nn.relu(self.pts_linears[2](h))
        sigma, rgb = self.alpha_linear(h)[..., 0], jax.nn.sigmoid(self.rgb_linear(h))
        dists = z_vals[..., 1:] - z_vals[..., :-1]
        dists = jnp.concatenate([dists, jnp.full_like(dists[..., :1], 1e10)], axis=-1)
        alpha = 1.0 - jnp.exp(-jax.nn.relu(sigma) * dists)
        shifted = jnp.concatenate([jnp.ones_like(alpha[..., :1]), 1.0 - alpha + 1e-10], axis=-1)
        weights = alpha * F.cumprod(shifted, -1)[..., :-1]
        return (weights[..., None] * rgb).sum(axis=-2), weights.sum(axis=-1)

    def embed(self, x):
        out = [x]
        for freq in F.pow(2.0, jnp.linspace(0.0, self.frequencies - 1, self.frequencies)):
            out.append(jnp.sin(x * freq))
            out.append(jnp.cos(x * freq))
        return jnp.concatenate(out, axis=-1)
