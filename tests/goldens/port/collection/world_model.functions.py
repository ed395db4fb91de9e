"""JAX port of WorldModel (port_collection/agents.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def world_model(p, actions, state):
    """A latent rollout with straight-through samples of categories.

    WorldModel (port_collection/agents.py:0).

    actions (N, L, 2), state (N, 4) -> rewards (N,), state (N, 4).

    JAX unrolls `for action in jnp.unstack(actions, axis=1)`, so compile time grows with the
    number of iterations; use lax.scan for long inputs.
    """
    rewards = []
    discount = jnp.ones_like(state[:, 0])
    for action in jnp.unstack(actions, axis=1):
        z = sample(F.linear(state, **p["logits"]))
        state = gru_cell(p["cell"], jnp.concatenate([z, action], axis=-1), state)
        heads = {
            "reward": F.linear(state, **p["heads"]["reward"]).squeeze(axis=-1),
            "cont": F.linear(state, **p["heads"]["cont"]).squeeze(axis=-1),
        }
        rewards.append(discount * heads["reward"])
        discount = discount * jax.nn.sigmoid(heads["cont"])
    return jnp.stack(rewards, axis=1).sum(axis=1), state


def sample(logits):
    """WorldModel.sample (port_collection/agents.py:0): logits (N, 3) -> (N, 3)."""
    probs = jax.nn.softmax(logits, axis=-1)
    hard = jax.nn.one_hot(probs.argmax(axis=-1), probs.shape[-1], dtype=probs.dtype)
    return hard + probs - lax.stop_gradient(probs)


def gru_cell(p, x, hx):
    """torch.nn.GRUCell: x (N, 5), hx (N, 4) -> (N, 4)."""
    return F.gru_cell(x, hx, p["weight_ih"], p["weight_hh"], p["bias_ih"], p["bias_hh"])
