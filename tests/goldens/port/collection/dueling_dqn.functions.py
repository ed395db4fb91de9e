"""JAX port of DuelingDQN (port_collection/agents.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def dueling_dqn(p, state, action, reward, next_state, done):
    """The loss of double Q-learning, with the target network inside of the module.

    DuelingDQN (port_collection/agents.py:0).

    state (N, 3), action (N,) int, reward (N,), next_state (N, 3), done (N,) -> ().
    """
    q_values = F.gather(net(p["policy"], state), 1, jnp.expand_dims(action, 1)).squeeze(axis=1)
    return F.smooth_l1_loss(q_values, lax.stop_gradient(expected(p, reward, next_state, done)))


def expected(p, reward, next_state, done, *, gamma=0.9):
    """expected (port_collection/agents.py:0).

    reward (N,), next_state (N, 3), done (N,) -> (N,).
    """
    best = net(p["policy"], next_state).argmax(axis=1, keepdims=True)
    y = F.gather(net(p["target"], next_state), 1, best)
    return reward + gamma * y.squeeze(axis=1) * (1 - done)


def net(p, x):
    """Net (port_collection/agents.py:0): x (N, 3) -> (N, 4)."""
    x = F.selu(F.linear(x, **p["feature"][0]))
    advantage = F.linear(x, **p["advantage"])
    return F.linear(x, **p["value"]) + advantage - advantage.mean(axis=-1, keepdims=True)
