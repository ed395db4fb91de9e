"""JAX port of WorldModel (port_collection/agents.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad.nnx import GRUCell, Linear


class WorldModel(nnx.Module):
    """A latent rollout with straight-through samples of categories.

    WorldModel (port_collection/agents.py:0).

    JAX unrolls `for action in jnp.unstack(actions, axis=1)`, so compile time grows with the
    number of iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.cell = GRUCell(5, 4, rngs=rngs)
        self.logits = Linear(4, 3, rngs=rngs)
        self.heads = nnx.Dict({"reward": Linear(4, 1, rngs=rngs), "cont": Linear(4, 1, rngs=rngs)})

    def __call__(self, actions, state):
        rewards = []
        discount = jnp.ones_like(state[:, 0])
        for action in jnp.unstack(actions, axis=1):
            z = self.sample(self.logits(state))
            state = self.cell(jnp.concatenate([z, action], axis=-1), state)
            heads = {
                "reward": self.heads["reward"](state).squeeze(axis=-1),
                "cont": self.heads["cont"](state).squeeze(axis=-1),
            }
            rewards.append(discount * heads["reward"])
            discount = discount * jax.nn.sigmoid(heads["cont"])
        return jnp.stack(rewards, axis=1).sum(axis=1), state

    def sample(self, logits):
        probs = jax.nn.softmax(logits, axis=-1)
        hard = jax.nn.one_hot(probs.argmax(axis=-1), probs.shape[-1], dtype=probs.dtype)
        return hard + probs - lax.stop_gradient(probs)
