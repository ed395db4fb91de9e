"""JAX port of NeRF (port_collection/points.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def nerf(p, rays_o, rays_d, t_vals, *, near=2.0, far=6.0):
    """A radiance field and the volume rendering of its rays.

    NeRF (port_collection/points.py:0).

    rays_o (N, 3), rays_d (N, 3), t_vals (N, L) -> (N, 3), weights (N,).
    """
    z_vals = near * (1.0 - t_vals) + far * t_vals
    pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
    embedded = embed(pts)
    h = jax.nn.relu(F.linear(embedded, **p["pts_linears"][0]))
    h = jax.nn.relu(F.linear(h, **p["pts_linears"][1]))
    h = jnp.concatenate([embedded, h], axis=-1)
    h = jax.nn.relu(F.linear(h, **p["pts_linears"][2]))
    sigma = F.linear(h, **p["alpha_linear"])[..., 0]
    rgb = jax.nn.sigmoid(F.linear(h, **p["rgb_linear"]))
    dists = z_vals[..., 1:] - z_vals[..., :-1]
    dists = jnp.concatenate([dists, jnp.full_like(dists[..., :1], 1e10)], axis=-1)
    alpha = 1.0 - jnp.exp(-jax.nn.relu(sigma) * dists)
    shifted = jnp.concatenate([jnp.ones_like(alpha[..., :1]), 1.0 - alpha + 1e-10], axis=-1)
    weights = alpha * F.cumprod(shifted, -1)[..., :-1]
    return (weights[..., None] * rgb).sum(axis=-2), weights.sum(axis=-1)


def embed(x, *, frequencies=2):
    """NeRF.embed (port_collection/points.py:0): x (N, L, 3) -> (N, L, 15)."""
    out = [x]
    for freq in F.pow(2.0, jnp.linspace(0.0, frequencies - 1, frequencies)):
        out.append(jnp.sin(x * freq))
        out.append(jnp.cos(x * freq))
    return jnp.concatenate(out, axis=-1)
