"""JAX port of SAC (ports/sac.py), written by jaxgrad.port for torch 2.13.

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

DISCOUNT = 0.9
ENTROPY = -2.0


def sac(p, state, action, reward, following, noise, noise_following):
    """SAC (ports/sac.py:0).

    state (N, 3), action (N, 2), reward (N,), following (N, 3), noise (N, 2),
    noise_following (N, 2) -> {q1 (N,), q2 (N,), actor (N,), temperature (N,)}.
    """
    alpha = jnp.exp(p["log_alpha"])
    acted, log_prob = lax.stop_gradient(act(p, following, noise_following))
    value = critic(p["target_q1"], following, acted)
    value = lax.stop_gradient(F.min(value, critic(p["target_q2"], following, acted)))
    target = lax.stop_gradient(reward + DISCOUNT * (value - alpha * log_prob))
    acted, log_prob = act(p, state, noise)
    q1, q2 = [critic(lax.stop_gradient(q), state, acted) for q in (p["q1"], p["q2"])]
    return {
        "q1": critic(p["q1"], state, action) - target,
        "q2": critic(p["q2"], state, action) - target,
        "actor": lax.stop_gradient(alpha) * log_prob - F.min(q1, q2),
        "temperature": -p["log_alpha"] * (lax.stop_gradient(log_prob) + ENTROPY),
    }


def act(p, state, noise):
    """SAC.act (ports/sac.py:0): state (N, 3), noise (N, 2) -> raw (N, 2), (N,)."""
    h = jax.nn.silu(F.linear(state, **p["body"]))
    mean, log_std = F.linear(h, **p["mean"]), F.clamp(F.linear(h, **p["log_std"]), min=-5, max=2)
    raw = mean + jnp.exp(log_std) * noise
    log_prob = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
    squash = 2 * (math.log(2) - raw - F.softplus(-2 * raw))
    return jnp.tanh(raw), (log_prob - squash).sum(axis=-1)


def critic(p, state, action):
    """Critic (ports/sac.py:0): state (N, 3), action (N, 2) -> (N,)."""
    x = jax.nn.silu(F.linear(jnp.concatenate([state, action], axis=-1), **p["l1"]))
    return F.linear(x, **p["l2"]).squeeze(axis=-1)
