"""JAX port of RealNVP (port_collection/generative.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad.nnx import Linear


class RealNVP(nnx.Module):
    """RealNVP (port_collection/generative.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.bijections = nnx.List(
            [
                ActNorm(),
                AffineCoupling(rngs=rngs),
                ActNorm(),
                AffineCoupling(rngs=rngs),
                ActNorm(),
                AffineCoupling(rngs=rngs),
            ]
        )

    def __call__(self, x):
        log_det = jnp.zeros((x.shape[0],), dtype=x.dtype)
        x, delta = self.bijections[0](x)
        log_det += delta
        x, delta = self.bijections[1](x)
        log_det += delta
        x, delta = self.bijections[2](x)
        log_det += delta
        x, delta = self.bijections[3](x)
        log_det += delta
        x, delta = self.bijections[4](x)
        log_det += delta
        x, delta = self.bijections[5](x)
        log_det += delta
        return -(log_prob(x).sum(axis=-1) + log_det).mean()


class ActNorm(nnx.Module):
    """ActNorm (port_collection/generative.py:0)."""

    def __init__(self):
        self.loc = nnx.Param(jnp.zeros(4, jnp.float32))
        self.log_scale = nnx.Param(jnp.zeros(4, jnp.float32))

    def __call__(self, x):
        y = jnp.broadcast_to(self.log_scale[...].sum(), (x.shape[0],))
        return (x - self.loc[...]) * jnp.exp(self.log_scale[...]), y


class AffineCoupling(nnx.Module):
    """AffineCoupling (port_collection/generative.py:0).

    `jaxgrad.nnx.load_state_dict` sets `mask`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mask = nnx.BatchStat(jnp.empty(4, jnp.float32))
        self.scale = nnx.Sequential(
            Linear(4, 5, rngs=rngs), jnp.tanh, Linear(5, 4, rngs=rngs), jnp.tanh
        )
        self.translate = nnx.Sequential(
            Linear(4, 5, rngs=rngs), jax.nn.relu, Linear(5, 4, rngs=rngs)
        )

    def __call__(self, x):
        masked = self.mask[...] * x
        s = self.scale(masked) * (1 - self.mask[...])
        t = self.translate(masked) * (1 - self.mask[...])
        return masked + (1 - self.mask[...]) * (x * jnp.exp(s) + t), s.sum(axis=-1)


def log_prob(value):
    """torch.distributions.Normal.log_prob."""
    var = jnp.array(1.0, dtype=jnp.float32) ** 2
    log_scale = jnp.log(jnp.array(1.0, dtype=jnp.float32))
    return (
        -((value - jnp.array(0.0, dtype=jnp.float32)) ** 2) / (2 * var)
        - log_scale
        - math.log(math.sqrt(2 * math.pi))
    )
