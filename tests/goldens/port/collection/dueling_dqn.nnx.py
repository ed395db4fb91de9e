"""JAX port of DuelingDQN (port_collection/agents.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class DuelingDQN(nnx.Module):
    """The loss of double Q-learning, with the target network inside of the module.

    DuelingDQN (port_collection/agents.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.policy = Net(rngs=rngs)
        self.target = Net(rngs=rngs)

    def __call__(self, state, action, reward, next_state, done):
        q_values = F.gather(self.policy(state), 1, jnp.expand_dims(action, 1)).squeeze(axis=1)
        return F.smooth_l1_loss(q_values, self.expected(reward, next_state, done))

    def expected(self, reward, next_state, done):
        return lax.stop_gradient(expected(self, reward, next_state, done))


class Net(nnx.Module):
    """Net (port_collection/agents.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.feature = nnx.Sequential(Linear(3, 5, rngs=rngs), F.selu)
        self.advantage = Linear(5, 4, rngs=rngs)
        self.value = Linear(5, 1, rngs=rngs)

    def __call__(self, x):
        x = self.feature(x)
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(axis=-1, keepdims=True)


def expected(module, reward, next_state, done, *, gamma=0.9):
    """expected (port_collection/agents.py:0)."""
    best = module.policy(next_state).argmax(axis=1, keepdims=True)
    return reward + gamma * F.gather(
        module.target(next_state), 1, best
    ).squeeze(axis=1) * (1 - done)
