"""JAX port of ActorCritic (ports/ddpg.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import LayerNorm, Linear

DISCOUNT = 0.95
LIMIT = 1.5


class ActorCritic(nnx.Module):
    """Compute both losses in one pass; the actor's loss uses a detached copy of the critic.

    ActorCritic (ports/ddpg.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.actor = Actor(rngs=rngs)
        self.critic = Critic(rngs=rngs)
        self.target_actor = Actor(rngs=rngs)
        self.target_critic = Critic(rngs=rngs)

    def __call__(self, state, action, reward, following, done):
        acted = lax.stop_gradient(self.critic)(state, self.actor(state))
        value = self.target_critic(following, self.target_actor(following))
        target = reward + DISCOUNT * (1 - done) * value
        return {"q": self.critic(state, action), "q_of_actor": acted, "target": target}


class Actor(nnx.Module):
    """Actor (ports/ddpg.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.net = nnx.Sequential(
            Linear(4, 12, dtype=jnp.float64, rngs=rngs),
            jax.nn.relu,
            Linear(12, 2, dtype=jnp.float64, rngs=rngs),
            jnp.tanh,
        )

    def __call__(self, state):
        return LIMIT * self.net(state)


class Critic(nnx.Module):
    """Critic (ports/ddpg.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.l1 = Linear(6, 12, dtype=jnp.float64, rngs=rngs)
        self.norm = LayerNorm(12, dtype=jnp.float64)
        self.l2 = Linear(12, 12, dtype=jnp.float64, rngs=rngs)
        self.l3 = Linear(12, 1, dtype=jnp.float64, rngs=rngs)

    def __call__(self, state, action):
        x = jnp.concatenate([state, action], axis=1)
        x = self.norm(jax.nn.relu(self.l1(x)))
        return self.l3(jax.nn.relu(self.l2(x)))
