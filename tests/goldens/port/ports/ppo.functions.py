"""JAX port of Policy (ports/ppo.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import math

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def policy(p, observation, action, old, returns):
    """Policy (ports/ppo.py:0).

    observation (N, 4), action (N, 2), old (N,), returns (N,) -> {ratio (N,), advantage (N,),
    entropy (N,), value (N,)}.
    """
    h = jnp.tanh(F.linear(observation, **p["trunk"][0]))
    mean = F.linear(h, **p["mean"])
    std = jnp.broadcast_to(jnp.exp(p["log_std"]), mean.shape)
    loc, scale = jnp.broadcast_arrays(mean, std)
    value = F.linear(h, **p["value"]).squeeze(axis=-1)
    advantage = returns - lax.stop_gradient(value)
    return {
        "ratio": jnp.exp(log_prob(loc, scale, action).sum(axis=-1) - old),
        "advantage": (advantage - advantage.mean()) / (F.std(advantage) + 1e-8),
        "entropy": (0.5 + 0.5 * math.log(2 * math.pi) + jnp.log(scale)).sum(axis=-1),
        "value": value,
    }


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob: loc (N, 2), scale (N, 2), value (N, 2) -> (N, 2)."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))
