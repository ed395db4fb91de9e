"""JAX port of SAC (port_collection/agents.py), written by jaxgrad.port for torch 2.13.

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

LOG_STD_MIN = -5
LOG_STD_MAX = 2


def sac(p, o, a, r, o2, d, noise, *, gamma=0.99, alpha=0.2):
    """SAC (port_collection/agents.py:0).

    o (N, 3), a (N, 2), r (N,), o2 (N, 3), d (N,), noise (N, 2) -> loss_q (), ().
    """
    q1 = q(p["q1"], jnp.concatenate([o, a], axis=-1)).squeeze(axis=-1)
    q2 = q(p["q2"], jnp.concatenate([o, a], axis=-1)).squeeze(axis=-1)
    # Bellman backup for Q functions
    a2, logp_a2 = lax.stop_gradient(squashed_gaussian_actor(p["pi"], o2, noise))
    inputs = lax.stop_gradient(jnp.concatenate([o2, a2], axis=-1))
    q_pi_targ = F.min(q(p["q1_targ"], inputs), q(p["q2_targ"], inputs))
    q_pi_targ = lax.stop_gradient(q_pi_targ.squeeze(axis=-1))
    backup = lax.stop_gradient(r + gamma * (1 - d) * (q_pi_targ - alpha * logp_a2))
    loss_q = ((q1 - backup) ** 2).mean() + ((q2 - backup) ** 2).mean()
    pi, logp_pi = squashed_gaussian_actor(p["pi"], o, noise)
    q_pi = q(p["q1"], jnp.concatenate([o, pi], axis=-1))
    q_pi = F.min(q_pi, q(p["q2"], jnp.concatenate([o, pi], axis=-1))).squeeze(axis=-1)
    return loss_q, (alpha * logp_pi - q_pi).mean()


def q(p, x):
    """SAC.q1 and SAC.q1_targ (port_collection/agents.py:0): x (N, 5) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    return F.linear(x, **p[2])


def squashed_gaussian_actor(p, obs, noise):
    """SquashedGaussianActor (port_collection/agents.py:0).

    obs (N, 3), noise (N, 2) -> pi_action (N, 2), logp_pi (N,).
    """
    net_out = net(p["net"], obs)
    mu, log_std = F.linear(net_out, **p["mu_layer"]), F.linear(net_out, **p["log_std_layer"])
    log_std = F.clamp(log_std, min=LOG_STD_MIN, max=LOG_STD_MAX)
    scale = jnp.exp(log_std)
    loc, scale = jnp.broadcast_arrays(mu, scale)
    pi_action = mu + jnp.exp(log_std) * noise
    logp_pi = log_prob(loc, scale, pi_action).sum(axis=-1)
    logp_pi -= (2 * (math.log(2) - pi_action - F.softplus(-2 * pi_action))).sum(axis=1)
    return jnp.tanh(pi_action), logp_pi


def net(p, x):
    """SquashedGaussianActor.net (port_collection/agents.py:0): x (N, 3) -> (N, 4)."""
    x = F.linear(x, **p[0])
    x = jax.nn.relu(x)
    x = F.linear(x, **p[2])
    return jax.nn.relu(x)


def log_prob(loc, scale, value):
    """torch.distributions.Normal.log_prob: loc (N, 2), scale (N, 2), value (N, 2) -> (N, 2)."""
    var = scale**2
    log_scale = jnp.log(scale)
    return -((value - loc) ** 2) / (2 * var) - log_scale - math.log(math.sqrt(2 * math.pi))
