"""JAX port of SAC (ports/sac.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")

DISCOUNT = 0.9
ENTROPY = -2.0


class SAC(nnx.Module):
    """SAC (ports/sac.py:0).

    `jaxgrad.nnx.load_state_dict` sets `log_alpha`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.log_alpha = nnx.Param(jnp.empty(1, jnp.float64))
        self.body = Linear(3, 5, dtype=jnp.float64, rngs=rngs)
        self.mean = Linear(5, 2, dtype=jnp.float64, rngs=rngs)
        self.log_std = Linear(5, 2, dtype=jnp.float64, rngs=rngs)
        self.q1 = Critic(rngs=rngs)
        self.q2 = Critic(rngs=rngs)
        self.target_q1 = Critic(rngs=rngs)
        self.target_q2 = Critic(rngs=rngs)

    def __call__(self, state, action, reward, following, noise, noise_following):
        alpha = jnp.exp(self.log_alpha[...])
        acted, log_prob = lax.stop_gradient(self.act(following, noise_following))
        value = self.target_q1(following, acted)
        value = lax.stop_gradient(F.min(value, self.target_q2(following, acted)))
        target = lax.stop_gradient(reward + DISCOUNT * (value - alpha * log_prob))
        acted, log_prob = self.act(state, noise)
        q1, q2 = [lax.stop_gradient(q)(state, acted) for q in (self.q1, self.q2)]
        return {
            "q1": self.q1(state, action) - target,
            "q2": self.q2(state, action) - target,
            "actor": lax.stop_gradient(alpha) * log_prob - F.min(q1, q2),
            "temperature": -self.log_alpha[...] * (lax.stop_gradient(log_prob) + ENTROPY),
        }

    def act(self, state, noise):
        h = jax.nn.silu(self.body(state))
        mean, log_std = self.mean(h), F.clamp(self.log_std(h), min=-5, max=2)
        raw = mean + jnp.exp(log_std) * noise
        log_prob = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
        squash = 2 * (math.log(2) - raw - F.softplus(-2 * raw))
        return jnp.tanh(raw), (log_prob - squash).sum(axis=-1)


class Critic(nnx.Module):
    """Critic (ports/sac.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.l1 = Linear(5, 5, dtype=jnp.float64, rngs=rngs)
        self.l2 = Linear(5, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, state, action):
        x = jax.nn.silu(self.l1(jnp.concatenate([state, action], axis=-1)))
        return self.l2(x).squeeze(axis=-1)
