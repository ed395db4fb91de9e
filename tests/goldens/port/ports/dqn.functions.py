"""JAX port of DoubleDQN (ports/dqn.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")

DISCOUNT = 0.9


def double_dqn(p, state, action, reward, following, done):
    """DoubleDQN (ports/dqn.py:0).

    state (N, 4), action (N,) int, reward (N,), following (N, 4), done (N,) -> q (N,),
    target (N,).
    """
    q = F.gather(dueling(p["online"], state), 1, action[:, None]).squeeze(axis=1)
    best = dueling(p["online"], following).argmax(axis=1, keepdims=True)
    value = lax.stop_gradient(F.gather(dueling(p["target"], following), 1, best).squeeze(axis=1))
    return q, lax.stop_gradient(reward + DISCOUNT * (1 - done) * value)


def dueling(p, state):
    """Dueling (ports/dqn.py:0): state (N, 4) -> (N, 3)."""
    h = jax.nn.relu(F.linear(state, **p["body"]))
    advantage = F.linear(h, **p["advantage"])
    return F.linear(h, **p["value"]) + advantage - advantage.mean(axis=-1, keepdims=True)
