"""JAX port of PPO (port_collection/agents.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def ppo(
    p,
    obs,
    actions,
    logprobs,
    advantages,
    returns,
    values,
    *,
    clip_coef=0.2,
    ent_coef=0.01,
    vf_coef=0.5,
):
    """PPO (port_collection/agents.py:0).

    obs (N, 3), actions (N,) int, logprobs (N,), advantages (N,), returns (N,), values (N,) ->
    loss (), approx_kl ().
    """
    newlogprob, entropy, newvalue = get_action_and_value(p, obs, actions)
    logratio = newlogprob - logprobs
    ratio = jnp.exp(logratio)
    advantages = (advantages - advantages.mean()) / (F.std(advantages) + 1e-8)
    pg_loss1 = -advantages * ratio
    pg_loss2 = -advantages * F.clamp(ratio, min=1 - clip_coef, max=1 + clip_coef)
    pg_loss = F.max(pg_loss1, pg_loss2).mean()
    newvalue = newvalue.reshape(-1)
    v_clipped = values + F.clamp(newvalue - values, min=-clip_coef, max=clip_coef)
    v_loss_max = F.max((newvalue - returns) ** 2, (v_clipped - returns) ** 2)
    loss = pg_loss - ent_coef * entropy.mean() + v_loss_max.mean() * 0.5 * vf_coef
    return loss, lax.stop_gradient((ratio - 1 - logratio).mean())


def get_action_and_value(p, x, action):
    """PPO.get_action_and_value (port_collection/agents.py:0).

    x (N, 3), action (N,) int -> (N,), (N,), critic (N, 1).
    """
    logits = mlp(p["actor"], x)
    logits = logits - jax.nn.logsumexp(logits, axis=-1, keepdims=True)
    return log_prob(logits, action), entropy_forward(logits), mlp(p["critic"], x)


def mlp(p, x):
    """PPO.actor and PPO.critic (port_collection/agents.py:0): x (N, 3) -> (N, 1|4)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])


def log_prob(logits, value):
    """torch.distributions.Categorical.log_prob: logits (N, 4), value (N,) int -> (N,)."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)


def entropy_forward(logits):
    """torch.distributions.Categorical.entropy: logits (N, 4) -> (N,)."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)
