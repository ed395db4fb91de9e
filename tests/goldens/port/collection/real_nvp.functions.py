"""JAX port of RealNVP (port_collection/generative.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */mask.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax
import jax.numpy as jnp
from jaxgrad import functional

F = functional.at("2.13")


def real_nvp(p, x):
    """RealNVP (port_collection/generative.py:0): x (N, 4) -> ()."""
    log_det = jnp.zeros((x.shape[0],), dtype=x.dtype)
    for i in range(0, 6, 2):
        x, delta = act_norm(p["bijections"][i], x)
        log_det += delta
        x, delta = affine_coupling(p["bijections"][i + 1], x)
        log_det += delta
    return -(log_prob(x).sum(axis=-1) + log_det).mean()


def act_norm(p, x):
    """ActNorm (port_collection/generative.py:0): x (N, 4) -> (N, 4), y (N,)."""
    y = jnp.broadcast_to(p["log_scale"].sum(), (x.shape[0],))
    return (x - p["loc"]) * jnp.exp(p["log_scale"]), y


def affine_coupling(p, x):
    """AffineCoupling (port_collection/generative.py:0): x (N, 4) -> (N, 4), s (N,)."""
    masked = p["mask"] * x
    s = scale(p["scale"], masked) * (1 - p["mask"])
    t = translate(p["translate"], masked) * (1 - p["mask"])
    return masked + (1 - p["mask"]) * (x * jnp.exp(s) + t), s.sum(axis=-1)


def scale(p, x):
    """AffineCoupling.scale (port_collection/generative.py:0): x (N, 4) -> (N, 4)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    x = F.linear(x, **p[2])
    return jnp.tanh(x)


def translate(p, x):
    """AffineCoupling.translate (port_collection/generative.py:0): x (N, 4) -> (N, 4)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])


def log_prob(value):
    """torch.distributions.Normal.log_prob: value (N, 4) -> (N, 4)."""
    var = jnp.array(1.0, dtype=jnp.float32) ** 2
    log_scale = jnp.log(jnp.array(1.0, dtype=jnp.float32))
    return (
        -((value - jnp.array(0.0, dtype=jnp.float32)) ** 2) / (2 * var)
        - log_scale
        - math.log(math.sqrt(2 * math.pi))
    )
