"""JAX port of Policy (ports/ppo.py), written by jaxgrad.port for torch 2.13."""

import math

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Policy(nnx.Module):
    """Policy (ports/ppo.py:0).

    `jaxgrad.nnx.load_state_dict` sets `log_std`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.log_std = nnx.Param(jnp.empty(2, jnp.float64))
        self.trunk = nnx.Sequential(Linear(4, 6, dtype=jnp.float64, rngs=rngs), jnp.tanh)
        self.mean = Linear(6, 2, dtype=jnp.float64, rngs=rngs)
        self.value = Linear(6, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, observation, action, old, returns):
        h = self.trunk(observation)
        mean = self.mean(h)
        std = jnp.broadcast_to(jnp.exp(self.log_std[...]), mean.shape)
        loc_2, scale_2 = jnp.broadcast_arrays(mean, std)
        value = self.value(h).squeeze(axis=-1)
        advantage = returns - lax.stop_gradient(value)
        return {
            "ratio": jnp.exp(log_prob(loc_2, scale_2, action).sum(axis=-1) - old),
            "advantage": (advantage - advantage.mean()) / (F.std(advantage) + 1e-8),
            "entropy": (0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale_2)).sum(axis=-1),
            "value": value,
        }


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))
