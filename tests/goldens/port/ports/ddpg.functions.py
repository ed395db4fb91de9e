"""JAX port of ActorCritic (ports/ddpg.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

DISCOUNT = 0.95
LIMIT = 1.5


def actor_critic(p, state, action, reward, following, done):
    """Compute both losses in one pass; the actor's loss uses a detached copy of the critic.

    ActorCritic (ports/ddpg.py:0).

    state (N, 4), action (N, 2), reward (N, 1), following (N, 4), done (N, 1) -> {q (N, 1),
    q_of_actor (N, 1), target (N, 1)}.
    """
    acted = critic(lax.stop_gradient(p["critic"]), state, actor(p["actor"], state))
    value = critic(p["target_critic"], following, actor(p["target_actor"], following))
    target = reward + DISCOUNT * (1 - done) * value
    return {"q": critic(p["critic"], state, action), "q_of_actor": acted, "target": target}


def critic(p, state, action):
    """Critic (ports/ddpg.py:0): state (N, 4), action (N, 2) -> (N, 1)."""
    x = jnp.concatenate([state, action], axis=1)
    x = F.layer_norm(jax.nn.relu(F.linear(x, **p["l1"])), (12,), **p["norm"])
    return F.linear(jax.nn.relu(F.linear(x, **p["l2"])), **p["l3"])


def actor(p, state):
    """Actor (ports/ddpg.py:0): state (N, 4) -> (N, 2)."""
    state = F.linear(state, **p["net"][0])
    state = jax.nn.relu(state)
    state = F.linear(state, **p["net"][2])
    state = jnp.tanh(state)
    return LIMIT * state
