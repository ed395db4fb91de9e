"""Double DQN with a dueling head and prioritised replay, and its port to linen."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from flax import linen
from jax import lax
from torch import nn
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


STATE, HIDDEN, ACTIONS, BATCH, DISCOUNT = 4, 6, 3, 6, 0.9


class Dueling(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(STATE, HIDDEN)
        self.value = nn.Linear(HIDDEN, 1)
        self.advantage = nn.Linear(HIDDEN, ACTIONS)

    def forward(self, state):
        h = torch.relu(self.body(state))
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(-1, keepdim=True)


class DoubleDQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = Dueling()
        self.target = Dueling().requires_grad_(False)

    def forward(self, state, action, reward, following, done):
        q = self.online(state).gather(1, action[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.online(following).argmax(1, keepdim=True)
            value = self.target(following).gather(1, best).squeeze(1)
            target = reward + DISCOUNT * (1 - done) * value
        return q, target


def torch_loss(out: Any) -> Any:
    return functional.smooth_l1_loss(*out, reduction="none", beta=0.5).mean()


class Net(linen.Module):
    """The dueling network in JAX; options other than the default are porting mistakes."""

    stop_mean: Callable[[Any], Any] = identity
    stop_value: Callable[[Any], Any] = identity
    center: Callable[[Any], Any] = lambda x: jnp.mean(x, -1, keepdims=True)
    relu: Callable[[Any], Any] = jax.nn.relu

    @linen.compact
    def __call__(self, state: Any) -> Any:
        h = self.relu(linen.Dense(HIDDEN, name="body")(state))
        value = self.stop_value(linen.Dense(1, name="value")(h))
        advantage = linen.Dense(ACTIONS, name="advantage")(h)
        return value + advantage - self.stop_mean(self.center(advantage))


def convert(state: Any) -> Any:
    """Return the variables of both networks."""
    w = arrays(state)

    parts = "body", "value", "advantage"
    return {
        net: {"params": {part: dense(w, f"{net}.{part}") for part in parts}}
        for net in ("online", "target")
    }


def huber(q: Any, target: Any) -> Any:
    return optax.huber_loss(q, target, delta=0.5) / 0.5


def pair(
    seed: int = 0,
    *,
    error: Callable[[Any, Any], Any] = huber,
    stop_target: Callable[[Any], Any] = lax.stop_gradient,
    evaluator: str = "target",
    selector: str = "online",
    alive: Callable[[Any], Any] = lambda done: 1 - done,
    decays: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Return double DQN and its linen port; the arguments introduce mistakes."""
    module, net = build(DoubleDQN, seed), Net(**options)
    rng = np.random.default_rng(seed)

    def q_values(nets: Any, name: str, state: Any) -> Any:
        return net.apply(nets[name], state)

    def apply(nets: Any, state: Any, action: Any, reward: Any, following: Any, done: Any) -> Any:
        q = jnp.take_along_axis(q_values(nets, "online", state), action[:, None], 1)[:, 0]
        best = jnp.argmax(q_values(nets, selector, following), 1, keepdims=True)
        value = jnp.take_along_axis(q_values(nets, evaluator, following), best, 1)[:, 0]
        return q, stop_target(reward + DISCOUNT * alive(done) * value)

    decay = optax.add_decayed_weights(0.1)
    if not decays:
        decay = optax.masked(decay, {"online": True, "target": False})
    return dict(
        module=module,
        fn=apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(
            rng.standard_normal((BATCH, STATE)),
            rng.integers(0, ACTIONS, BATCH),
            rng.standard_normal(BATCH),
            rng.standard_normal((BATCH, STATE)),
            (np.arange(BATCH) == 1).astype(np.float64),
        ),
        loss=(torch_loss, lambda out: jnp.mean(error(*out))),
        optimizer=(
            lambda params: torch.optim.SGD(params, lr=0.1, weight_decay=0.1),
            optax.chain(decay, optax.sgd(0.1)),
        ),
        steps=2,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "huber_delta",
        "forward",
        "loss",
        plant=dict(error=lambda q, target: optax.huber_loss(q, target, delta=0.5)),
        about="optax's Huber loss is `delta` times torch's smooth L1.",
        cause="times 1/2|delta",
    ),
    Bug(
        "target_evaluates_online",
        "forward",
        "",
        plant=dict(evaluator="online"),
        about="The online network evaluates the best action.",
        cause="reads the result of online",
    ),
    Bug(
        "target_selects",
        "forward",
        "",
        plant=dict(selector="target"),
        about="The target network selects the action, as in plain DQN.",
        cause="reads the result of target",
    ),
    Bug(
        "center_over_batch",
        "forward",
        "online*",
        plant=dict(center=lambda x: jnp.mean(x, 0, keepdims=True)),
        about="The advantage is centered over the batch.",
        cause="mean is over dim 0",
    ),
    Bug(
        "target_not_detached",
        "structure",
        "target*",
        silent=True,
        plant=dict(stop_target=identity),
        about="The target network trains.",
        cause=missing_stop("no_grad|target = ", "huber_loss|stop_target"),
    ),
    Bug(
        "center_stopped",
        "backward",
        "online*",
        silent=True,
        plant=dict(stop_mean=lax.stop_gradient),
        about="The mean of the advantages is detached.",
        cause=extra_stop("stop_mean"),
    ),
    Bug(
        "value_stopped",
        "structure",
        "online.value*",
        silent=True,
        plant=dict(stop_value=lax.stop_gradient),
        about="The state value is detached.",
        cause=extra_stop("stop_value"),
    ),
    Bug(
        "target_decays",
        "updates",
        "target*",
        silent=True,
        plant=dict(decays=True),
        about="Weight decay moves the target network.",
        cause="torch skips the weight|decay is applied to target",
    ),
)
