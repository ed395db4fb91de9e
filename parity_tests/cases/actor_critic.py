"""Actor and critic, as in DDPG but without its replay buffer: two losses over one tree."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import linear, mse
from parity_tests.inputs import linear as draw_linear
from parity_tests.inputs import normal


STATE, ACTION, HIDDEN, BATCH, STEPS = 3, 2, 16, 8, 20
DISCOUNT, TAU, LR = 0.9, 0.05, 1e-2

ACTOR = {"l1": draw_linear(STATE, HIDDEN), "l2": draw_linear(HIDDEN, ACTION)}
CRITIC = {"l1": draw_linear(STATE + ACTION, HIDDEN), "l2": draw_linear(HIDDEN, 1)}


def batch_of(*steps: int) -> dict[str, Any]:
    return {
        "s": normal(*steps, BATCH, STATE),
        "noise": normal(*steps, BATCH, ACTION, scale=0.1),
        "reward": normal(*steps, BATCH, 1),
        "s_next": normal(*steps, BATCH, STATE),
    }


def act(net: Any, s: jax.Array) -> jax.Array:
    return jnp.tanh(linear(net["l2"], jax.nn.relu(linear(net["l1"], s))))


def judge(net: Any, s: jax.Array, a: jax.Array) -> jax.Array:
    return linear(net["l2"], jax.nn.relu(linear(net["l1"], jnp.concatenate([s, a], axis=1))))


def agent_of(actor: Any, critic: Any) -> dict[str, Any]:
    return {"actor": actor, "critic": critic, "target_actor": actor, "target_critic": critic}


def explored(nets: Any, batch: Any) -> jax.Array:
    """Return the actor's action with noise."""
    return act(nets["actor"], batch["s"]) + batch["noise"]


def target_of(nets: Any, batch: Any) -> jax.Array:
    """Return the reward and the value that the target networks expect after it."""
    action = act(nets["target_actor"], batch["s_next"])
    return batch["reward"] + DISCOUNT * judge(nets["target_critic"], batch["s_next"], action)


def gradients(loss: Any, nets: Any) -> Any:
    """Return the loss and the gradients of all four networks."""
    value, grads = jaxgrad.value_and_grad(loss)(nets)
    return {"loss": value, "grads": grads}


def keep_old(new: Any, old: Any, step_size: float) -> Any:
    """Replace `incremental_update` in the control: the target networks stay fixed."""
    del new, step_size
    return old


@case(
    source=("S0-16", "P210"),
    inputs=dict(actor=ACTOR, critic=CRITIC, batch=batch_of()),
    idiom=("critic(s, actor(s).detach())", "critic(s, lax.stop_gradient(actor(s)))"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def critic_loss(actor, critic, batch, *, stop_gradient=lax.stop_gradient):
    """With a newly computed action and the target stopped, the critic's loss gives only the critic
    a gradient and the other three networks None. Without the stops all four networks get one.
    """

    def through(nets):
        return mse(judge(nets["critic"], batch["s"], explored(nets, batch)), target_of(nets, batch))

    def stopped(nets):
        action = stop_gradient(explored(nets, batch))
        target = stop_gradient(target_of(nets, batch))
        return mse(judge(nets["critic"], batch["s"], action), target)

    nets = agent_of(actor, critic)
    return {"open": gradients(through, nets), "stopped": gradients(stopped, nets)}


@case(
    source="S0-16",
    inputs=dict(actor=ACTOR, critic=CRITIC, batch=batch_of()),
    idiom=("critic.requires_grad_(False)", "lax.stop_gradient(critic_params)"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def actor_loss(actor, critic, batch, *, stop_gradient=lax.stop_gradient):
    """The actor's loss reaches the actor through the critic. The critic's parameters get a
    gradient unless they are frozen; the target networks always get None."""

    def through(nets):
        return -jnp.mean(judge(nets["critic"], batch["s"], act(nets["actor"], batch["s"])))

    def stopped(nets):
        critic = stop_gradient(nets["critic"])
        return -jnp.mean(judge(critic, batch["s"], act(nets["actor"], batch["s"])))

    nets = agent_of(actor, critic)
    return {"open": gradients(through, nets), "stopped": gradients(stopped, nets)}


@case(
    source="S0-16",
    inputs=dict(actor=ACTOR, critic=CRITIC, batches=batch_of(STEPS)),
    idiom=(
        "target.mul_(1 - tau).add_(param, alpha=tau)",
        "optax.incremental_update(new, old, tau)",
    ),
    control=dict(incremental_update=keep_old),
    heavy=True,
)
def train(actor, critic, batches, *, incremental_update=optax.incremental_update):
    """In 20 alternating steps of two Adams, the critic's loss updates only the critic and the
    actor's loss only the actor; the target networks follow both slowly.
    """
    adam = optax.adam(LR)

    def step(carry, batch):
        (nets, states), losses = carry, {}
        for name, loss in (("critic", loss_of_critic), ("actor", loss_of_actor)):
            losses[name], nets, states = updated(adam, name, loss, nets, states, batch)
        for name in ("critic", "actor"):
            target = incremental_update(nets[name], nets[f"target_{name}"], TAU)
            nets = nets | {f"target_{name}": target}
        return (nets, states), losses

    states = {"critic": adam.init(critic), "actor": adam.init(actor)}
    (nets, _), losses = lax.scan(step, (agent_of(actor, critic), states), batches)
    return {"losses": losses, "params": nets}


def loss_of_critic(nets: Any, batch: Any) -> jax.Array:
    action, target = explored(nets, batch), target_of(nets, batch)
    return mse(judge(nets["critic"], batch["s"], action), target)


def loss_of_actor(nets: Any, batch: Any) -> jax.Array:
    return -jnp.mean(judge(nets["critic"], batch["s"], act(nets["actor"], batch["s"])))


def updated(tx: Any, name: str, loss: Any, nets: Any, states: Any, batch: Any) -> tuple[Any, ...]:
    """Take one step of the optimizer that holds only this network; return its loss as well."""

    def of_this(net):
        return loss(nets | {name: net}, batch)

    value, grads = jaxgrad.value_and_grad(of_this)(nets[name])
    updates, state = tx.update(grads, states[name])
    net = optax.apply_updates(nets[name], updates)
    return value, nets | {name: net}, states | {name: state}
