"""JAX port of PPO (port_collection/agents.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class PPO(nnx.Module):
    """PPO (port_collection/agents.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.clip_coef = 0.2
        self.ent_coef = 0.01
        self.vf_coef = 0.5
        self.actor = nnx.Sequential(Linear(3, 5, rngs=rngs), jnp.tanh, Linear(5, 4, rngs=rngs))
        self.critic = nnx.Sequential(Linear(3, 5, rngs=rngs), jnp.tanh, Linear(5, 1, rngs=rngs))

    def __call__(self, obs, actions, logprobs, advantages, returns, values):
        newlogprob, entropy, newvalue = self.get_action_and_value(obs, actions)
        logratio = newlogprob - logprobs
        ratio = jnp.exp(logratio)
        advantages = (advantages - advantages.mean()) / (F.std(advantages) + 1e-8)
        pg_loss1 = -advantages * ratio
        pg_loss2 = -advantages * F.clamp(ratio, min=1 - self.clip_coef, max=1 + self.clip_coef)
        pg_loss = F.max(pg_loss1, pg_loss2).mean()
        newvalue = newvalue.reshape(-1)
        v_clipped = values + F.clamp(newvalue - values, min=-self.clip_coef, max=self.clip_coef)
        v_loss_max = F.max((newvalue - returns) ** 2, (v_clipped - returns) ** 2)
        loss = pg_loss - self.ent_coef * entropy.mean() + v_loss_max.mean() * 0.5 * self.vf_coef
        return loss, lax.stop_gradient((ratio - 1 - logratio).mean())

    def get_action_and_value(self, x, action):
        logits = self.actor(x)
        logits_2 = logits - jax.nn.logsumexp(logits, axis=-1, keepdims=True)
        return log_prob(logits_2, action), entropy_forward(logits_2), self.critic(x)


def entropy_forward(logits):
    """torch.distributions.Categorical.entropy."""
    min_real = jnp.finfo(logits.dtype).min
    logits = F.clamp(logits, min=min_real)
    p_log_p = logits * jax.nn.softmax(logits, axis=-1)
    return -p_log_p.sum(axis=-1)


def log_prob(logits, value):
    """torch.distributions.Categorical.log_prob."""
    value = jnp.expand_dims(value.astype(int), -1)
    value, log_pmf = jnp.broadcast_arrays(value, logits)
    value = value[..., :1]
    return F.gather(log_pmf, -1, value).squeeze(axis=-1)
