"""DDPG with target networks and one loss for actor and critic, and its port to plain functions."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


STATE, ACTION, HIDDEN, BATCH, DISCOUNT, LIMIT = 4, 2, 12, 5, 0.95, 1.5


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(STATE, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, ACTION), nn.Tanh()
        )

    def forward(self, state):
        return LIMIT * self.net(state)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(STATE + ACTION, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.l2 = nn.Linear(HIDDEN, HIDDEN)
        self.l3 = nn.Linear(HIDDEN, 1)

    def forward(self, state, action):
        x = torch.cat([state, action], dim=1)
        x = self.norm(functional.relu(self.l1(x)))
        return self.l3(functional.relu(self.l2(x)))


class ActorCritic(nn.Module):
    """Compute both losses in one pass; the actor's loss uses a detached copy of the critic."""

    def __init__(self, targets: bool = True, zero_bias: bool = False):
        super().__init__()
        self.actor = Actor()
        self.critic = Critic()
        self.targets = targets
        if targets:
            self.target_actor = Actor().requires_grad_(False)
            self.target_critic = Critic().requires_grad_(False)
        for name, p in self.named_parameters():
            if zero_bias and name.endswith("bias"):
                nn.init.zeros_(p)

    def forward(self, state, action, reward, following, done):
        frozen = {name: p.detach() for name, p in self.critic.named_parameters()}
        acted = functional_call(self.critic, frozen, (state, self.actor(state)))
        actor, critic = self.actor, self.critic
        if self.targets:
            actor, critic = self.target_actor, self.target_critic
        value = critic(following, actor(following))
        target = reward + DISCOUNT * (1 - done) * value
        return {"q": self.critic(state, action), "q_of_actor": acted, "target": target}


def torch_loss(out: Any) -> Any:
    return functional.mse_loss(out["q"], out["target"].detach()) - out["q_of_actor"].mean()


def torch_adamw(params: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(params, lr=1e-2, weight_decay=0.1)


@dataclasses.dataclass(frozen=True)
class Port:
    """The JAX port and its options; most values other than the default are porting mistakes."""

    targets: bool = True
    eps: float = 1e-5
    relu: Callable[[Any], Any] = jax.nn.relu
    limit: float = LIMIT
    joined: Callable[[Any, Any], Any] = lambda s, a: jnp.concatenate([s, a], axis=1)
    alive: Callable[[Any], Any] = lambda done: 1 - done
    freeze_critic: Callable[[Any], Any] = lax.stop_gradient
    stop_action: Callable[[Any], Any] = identity
    stop_target: Callable[[Any], Any] = lax.stop_gradient
    stop_statistics: Callable[[Any], Any] = identity
    error: Callable[[Any, Any], Any] = lambda q, target: (q - target) ** 2

    def act(self, p: Any, s: Any) -> Any:
        return self.limit * jnp.tanh(linear(p["out"], self.relu(linear(p["in"], s))))

    def judge(self, p: Any, s: Any, a: Any) -> Any:
        h = self.relu(linear(p["in"], self.joined(s, a)))
        mean, variance = jnp.mean(h, -1, keepdims=True), jnp.var(h, -1, keepdims=True)
        mean, variance = self.stop_statistics((mean, variance))
        h = (h - mean) * lax.rsqrt(variance + self.eps) * p["scale"] + p["shift"]
        return linear(p["out"], self.relu(linear(p["mid"], h)))

    def apply(self, nets: Any, s: Any, a: Any, r: Any, s_next: Any, done: Any) -> Any:
        slow = nets["slow"] if self.targets else nets
        action = self.stop_action(self.act(nets["actor"], s))
        return {
            "q": self.judge(nets["critic"], s, a),
            "q_of_actor": self.judge(self.freeze_critic(nets["critic"]), s, action),
            "target": self.target(slow, r, s_next, done),
        }

    def target(self, nets: Any, r: Any, s_next: Any, done: Any) -> Any:
        value = self.judge(nets["critic"], s_next, self.act(nets["actor"], s_next))
        return r + DISCOUNT * self.alive(done) * value

    def loss(self, out: Any) -> Any:
        error = self.error(out["q"], self.stop_target(out["target"]))
        return jnp.mean(error) - jnp.mean(out["q_of_actor"])


def linear(p: Any, x: Any) -> Any:
    return x @ p["w"] + p["b"]


def convert(state: Any, *, targets: bool = True, mid: Callable[[Any], Any] = jnp.transpose) -> Any:
    """Return the weights of `ActorCritic` as a tree with two or four networks."""
    w = arrays(state)

    def layer(name: str, turn: Callable[[Any], Any] = jnp.transpose) -> dict[str, Any]:
        return {"w": turn(w[f"{name}.weight"]), "b": w[f"{name}.bias"]}

    def both(prefix: str) -> dict[str, Any]:
        actor, critic = f"{prefix}actor", f"{prefix}critic"
        judge = {"in": layer(f"{critic}.l1"), "mid": layer(f"{critic}.l2", mid)}
        norm = {"scale": w[f"{critic}.norm.weight"], "shift": w[f"{critic}.norm.bias"]}
        return {
            "actor": {"in": layer(f"{actor}.net.0"), "out": layer(f"{actor}.net.2")},
            "critic": judge | norm | {"out": layer(f"{critic}.l3")},
        }

    return both("") | ({"slow": both("target_")} if targets else {})


def trained(nets: Any) -> Any:
    return {name: name != "slow" for name in nets}


ADAMW = optax.adamw(1e-2, weight_decay=0.1, mask=trained)


def pair(
    seed: int = 0,
    *,
    fresh: bool = False,
    targets: bool = True,
    zero_bias: bool = False,
    resting: bool = False,
    mid: Callable[[Any], Any] = jnp.transpose,
    tx: optax.GradientTransformation = ADAMW,
    **tools: Any,
) -> dict[str, Any]:
    """Return DDPG and its port; with `resting`, zero inputs put the first ReLU exactly at zero."""
    module = build(lambda: ActorCritic(targets, zero_bias), seed, fresh=fresh)
    port = Port(targets=targets, **tools)
    weights = functools.partial(convert, targets=targets, mid=mid)
    rng = np.random.default_rng(seed)
    moving = np.ones((BATCH, 1))
    moving[0] = not resting
    return dict(
        module=module,
        fn=port.apply,
        params=weights(module.state_dict()),
        inputs=(
            rng.standard_normal((BATCH, STATE)) * moving,
            rng.uniform(-1, 1, (BATCH, ACTION)) * moving,
            rng.standard_normal((BATCH, 1)),
            rng.standard_normal((BATCH, STATE)),
            (np.arange(BATCH) == 1).astype(np.float64)[:, None],
        ),
        loss=(torch_loss, port.loss),
        optimizer=(torch_adamw, tx),
        steps=3,
        weights=weights,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "fresh": dict(fresh=True),
    "own_targets": dict(targets=False),
    "ties": dict(fresh=True, zero_bias=True, resting=True),
}

BUGS: tuple[Bug, ...] = (
    Bug(
        "action_first",
        "forward",
        "critic*",
        plant=dict(joined=lambda s, a: jnp.concatenate([a, s], axis=1)),
        about="Actions are concatenated before states; the shapes still fit.",
        cause="operands of cat are in another order: 1, 0",
    ),
    Bug(
        "limit_forgotten",
        "forward",
        "actor",
        plant=dict(limit=1.0),
        about="The tanh is not scaled by the action limit.",
        cause="torch's mul( by [^ ]+)? is missing|number in mul is 1,",
    ),
    Bug(
        "done_sense",
        "forward",
        "",
        plant=dict(alive=identity),
        about="The `done` flag is inverted, so targets bootstrap where an episode ends.",
        cause="torch's rsub is missing",
    ),
    Bug(
        "square_not_transposed",
        "forward",
        "critic.l2*",
        plant=dict(mid=identity),
        about="A square weight of the critic is not transposed.",
        cause="square weight is transposed",
    ),
    Bug(
        "critic_trained_by_actor",
        "gradients",
        "critic.*",
        silent=True,
        plant=dict(freeze_critic=identity),
        about="The actor's loss trains the critic.",
        cause=missing_stop(r"p\.detach\(\)", "freeze_critic"),
    ),
    Bug(
        "actor_detached",
        "structure",
        "actor.*",
        silent=True,
        plant=dict(stop_action=lax.stop_gradient),
        about="The action is detached, so the actor's loss does not train the actor.",
        cause=extra_stop("stop_action"),
    ),
    Bug(
        "target_not_detached",
        "structure",
        "target_*",
        silent=True,
        plant=dict(stop_target=identity),
        about="The target is not detached, so the target networks train.",
        cause=missing_stop("target.*detach", "q - target|stop_target|self.target"),
    ),
    Bug(
        "own_target_not_detached",
        "backward",
        "*",
        silent=True,
        plant=dict(targets=False, stop_target=identity),
        about="The critic's own target is not detached.",
        cause=missing_stop("target.*detach", "q - target|stop_target|self.target"),
    ),
    Bug(
        "statistics_stopped",
        "backward",
        "critic.norm",
        silent=True,
        plant=dict(stop_statistics=lax.stop_gradient),
        about="The layer norm's mean and variance are detached.",
        cause=extra_stop("stop_statistics"),
    ),
    Bug(
        "relu_ties",
        "backward",
        "*",
        silent=True,
        plant=dict(fresh=True, zero_bias=True, resting=True, relu=lambda x: jnp.maximum(x, 0)),
        about="`jnp.maximum` halves the gradient at zero.",
        cause="equal in some elements",
    ),
    Bug(
        "half_of_the_square",
        "forward",
        "loss",
        plant=dict(error=optax.l2_loss),
        about="`optax.l2_loss` includes a factor of one half.",
        cause=r"times 1/2|number in .* is 0\.5",
    ),
    Bug(
        "error_broadcasts",
        "forward",
        "loss",
        plant=dict(error=lambda q, target: (q[:, 0] - target) ** 2),
        about="Subtracting (batch, 1) from (batch,) broadcasts to (batch, batch).",
        cause="broadcast",
    ),
    Bug(
        "targets_decayed",
        "updates",
        "target_*",
        silent=True,
        plant=dict(tx=optax.adamw(1e-2, weight_decay=0.1)),
        about="torch skips parameters without a gradient; optax decays them.",
        cause="torch skips the weight|decay is applied to target",
    ),
    Bug(
        "decay_by_default",
        "updates",
        "*",
        silent=True,
        plant=dict(tx=optax.adamw(1e-2, mask=trained)),
        about="`optax.adamw` has a default weight decay of 1e-4.",
        cause=r"weight decay is 0\.0001",
    ),
)
