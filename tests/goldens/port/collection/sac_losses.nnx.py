"""JAX port of SAC (port_collection/agents.py), written by jaxgrad.port for torch 2.13."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")

LOG_STD_MIN = -5
LOG_STD_MAX = 2


class SAC(nnx.Module):
    """SAC (port_collection/agents.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.gamma = 0.99
        self.alpha = 0.2
        self.pi = SquashedGaussianActor(rngs=rngs)
        self.q1 = nnx.Sequential(
            Linear(5, 4, rngs=rngs), jax.nn.relu, Linear(4, 1, rngs=rngs), lambda x: x
        )
        self.q2 = nnx.Sequential(
            Linear(5, 4, rngs=rngs), jax.nn.relu, Linear(4, 1, rngs=rngs), lambda x: x
        )
        self.q1_targ = nnx.Sequential(
            Linear(5, 4, rngs=rngs), jax.nn.relu, Linear(4, 1, rngs=rngs), lambda x: x
        )
        self.q2_targ = nnx.Sequential(
            Linear(5, 4, rngs=rngs), jax.nn.relu, Linear(4, 1, rngs=rngs), lambda x: x
        )

    def __call__(self, o, a, r, o2, d, noise):
        q1 = self.q1(jnp.concatenate([o, a], axis=-1)).squeeze(axis=-1)
        q2 = self.q2(jnp.concatenate([o, a], axis=-1)).squeeze(axis=-1)
        # Bellman backup for Q functions
        a2, logp_a2 = lax.stop_gradient(self.pi(o2, noise))
        inputs = lax.stop_gradient(jnp.concatenate([o2, a2], axis=-1))
        q_pi_targ = F.min(self.q1_targ(inputs), self.q2_targ(inputs))
        q_pi_targ = lax.stop_gradient(q_pi_targ.squeeze(axis=-1))
        backup = lax.stop_gradient(r + self.gamma * (1 - d) * (q_pi_targ - self.alpha * logp_a2))
        loss_q = ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()
        pi, logp_pi = self.pi(o, noise)
        q_pi = self.q1(jnp.concatenate([o, pi], axis=-1))
        q_pi = F.min(q_pi, self.q2(jnp.concatenate([o, pi], axis=-1))).squeeze(axis=-1)
        return loss_q, (self.alpha * logp_pi - q_pi).mean()


class SquashedGaussianActor(nnx.Module):
    """SquashedGaussianActor (port_collection/agents.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(
            Linear(3, 4, rngs=rngs), jax.nn.relu, Linear(4, 4, rngs=rngs), jax.nn.relu
        )
        self.mu_layer = Linear(4, 2, rngs=rngs)
        self.log_std_layer = Linear(4, 2, rngs=rngs)

    def __call__(self, obs, noise):
        net_out = self.net(obs)
        mu, log_std = self.mu_layer(net_out), self.log_std_layer(net_out)
        log_std = F.clamp(log_std, min=LOG_STD_MIN, max=LOG_STD_MAX)
        scale = jnp.exp(log_std)
        loc_2, scale_2 = jnp.broadcast_arrays(mu, scale)
        pi_action = mu + jnp.exp(log_std) * noise
        logp_pi = log_prob(loc_2, scale_2, pi_action).sum(axis=-1)
        logp_pi -= (2 * (math.log(2) - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
        return jnp.tanh(pi_action), logp_pi


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))
