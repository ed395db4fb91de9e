"""JAX port of DoubleDQN (ports/dqn.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")

DISCOUNT = 0.9


class DoubleDQN(nnx.Module):
    """DoubleDQN (ports/dqn.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = Dueling(rngs=rngs)
        self.target = Dueling(rngs=rngs)

    def __call__(self, state, action, reward, following, done):
        q = F.gather(self.online(state), 1, action[:, None]).squeeze(axis=1)
        best = self.online(following).argmax(axis=1, keepdims=True)
        value = lax.stop_gradient(F.gather(self.target(following), 1, best).squeeze(axis=1))
        return q, lax.stop_gradient(reward + DISCOUNT * (1 - done) * value)


class Dueling(nnx.Module):
    """Dueling (ports/dqn.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.body = Linear(4, 6, dtype=jnp.float64, rngs=rngs)
        self.value = Linear(6, 1, dtype=jnp.float64, rngs=rngs)
        self.advantage = Linear(6, 3, dtype=jnp.float64, rngs=rngs)

    def __call__(self, state):
        h = jax.nn.relu(self.body(state))
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(axis=-1, keepdims=True)
