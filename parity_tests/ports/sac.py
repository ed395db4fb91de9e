"""SAC with twin critics, target critics and a learned temperature, and its port to nnx."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from flax import nnx
from jax import lax
from torch import nn
from torch.func import functional_call
from torch.nn import functional

from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


STATE, ACTION, HIDDEN, BATCH = 3, 2, 5, 6
DISCOUNT, ENTROPY = 0.9, -2.0


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(STATE + ACTION, HIDDEN)
        self.l2 = nn.Linear(HIDDEN, 1)

    def forward(self, state, action):
        x = functional.silu(self.l1(torch.cat([state, action], -1)))
        return self.l2(x).squeeze(-1)


class SAC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(STATE, HIDDEN)
        self.mean = nn.Linear(HIDDEN, ACTION)
        self.log_std = nn.Linear(HIDDEN, ACTION)
        self.q1, self.q2 = Critic(), Critic()
        self.target_q1 = Critic().requires_grad_(False)
        self.target_q2 = Critic().requires_grad_(False)
        self.log_alpha = nn.Parameter(torch.zeros(1))

    def act(self, state, noise):
        h = functional.silu(self.body(state))
        mean, log_std = self.mean(h), self.log_std(h).clamp(-5, 2)
        raw = mean + log_std.exp() * noise
        log_prob = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi)
        squash = 2 * (np.log(2) - raw - functional.softplus(-2 * raw))
        return raw.tanh(), (log_prob - squash).sum(-1)

    def forward(self, state, action, reward, following, noise, noise_following):
        alpha = self.log_alpha.exp()
        with torch.no_grad():
            acted, log_prob = self.act(following, noise_following)
            value = torch.min(self.target_q1(following, acted), self.target_q2(following, acted))
            target = reward + DISCOUNT * (value - alpha * log_prob)
        acted, log_prob = self.act(state, noise)
        q1, q2 = (
            functional_call(q, {n: p.detach() for n, p in q.named_parameters()}, (state, acted))
            for q in (self.q1, self.q2)
        )
        return {
            "q1": self.q1(state, action) - target,
            "q2": self.q2(state, action) - target,
            "actor": alpha.detach() * log_prob - torch.min(q1, q2),
            "temperature": -self.log_alpha * (log_prob.detach() + ENTROPY),
        }


def torch_loss(out: Any) -> Any:
    critics = out["q1"].square().mean() + out["q2"].square().mean()
    return critics + out["actor"].mean() + out["temperature"].mean()


class Choices(NamedTuple):
    """Options of the JAX port; values other than the default are porting mistakes."""

    correction: bool = True
    target_bound: Callable[[Any, Any], Any] = jnp.minimum
    stop_target: Callable[[Any], Any] = lax.stop_gradient
    stop_alpha: Callable[[Any], Any] = lax.stop_gradient
    stop_log_prob: Callable[[Any], Any] = lax.stop_gradient
    freeze: Callable[[Any], Any] = lax.stop_gradient
    stop_std: Callable[[Any], Any] = identity
    stop_action: Callable[[Any], Any] = identity
    bound_std: Callable[[Any], Any] = lambda x: jnp.clip(x, -5, 2)


class Q(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.l1 = nnx.Linear(STATE + ACTION, HIDDEN, rngs=rngs)
        self.l2 = nnx.Linear(HIDDEN, 1, rngs=rngs)

    def __call__(self, state: Any, action: Any) -> Any:
        return self.l2(nnx.silu(self.l1(jnp.concatenate([state, action], -1))))[..., 0]


class Agent(nnx.Module):
    def __init__(self, choices: Choices, rngs: nnx.Rngs):
        self.choices = choices
        self.body = nnx.Linear(STATE, HIDDEN, rngs=rngs)
        self.mean = nnx.Linear(HIDDEN, ACTION, rngs=rngs)
        self.log_std = nnx.Linear(HIDDEN, ACTION, rngs=rngs)
        self.q1, self.q2, self.target_q1, self.target_q2 = Q(rngs), Q(rngs), Q(rngs), Q(rngs)
        self.log_alpha = nnx.Param(jnp.zeros(1))

    def act(self, state: Any, noise: Any) -> tuple[Any, Any]:
        h = nnx.silu(self.body(state))
        log_std = self.choices.stop_std(self.choices.bound_std(self.log_std(h)))
        raw = self.mean(h) + jnp.exp(log_std) * noise
        log_prob = -0.5 * noise**2 - log_std - 0.5 * np.log(2 * np.pi)
        if self.choices.correction:
            log_prob -= 2 * (np.log(2) - raw - nnx.softplus(-2 * raw))
        return jnp.tanh(raw), log_prob.sum(-1)

    def frozen(self, q: Q) -> Q:
        graph, params = nnx.split(q)
        return nnx.merge(graph, self.choices.freeze(params))

    def __call__(self, state: Any, action: Any, reward: Any, following: Any, *noise: Any) -> Any:
        c, alpha = self.choices, jnp.exp(self.log_alpha[...])
        acted, log_prob = self.act(following, noise[1])
        value = c.target_bound(self.target_q1(following, acted), self.target_q2(following, acted))
        target = c.stop_target(reward + DISCOUNT * (value - alpha * log_prob))
        acted, log_prob = self.act(state, noise[0])
        acted = c.stop_action(acted)
        q = jnp.minimum(self.frozen(self.q1)(state, acted), self.frozen(self.q2)(state, acted))
        return {
            "q1": self.q1(state, action) - target,
            "q2": self.q2(state, action) - target,
            "actor": c.stop_alpha(alpha) * log_prob - q,
            "temperature": -self.log_alpha[...] * (c.stop_log_prob(log_prob) + ENTROPY),
        }


def loss(out: Any) -> Any:
    critics = jnp.mean(out["q1"] ** 2) + jnp.mean(out["q2"] ** 2)
    return critics + jnp.mean(out["actor"]) + jnp.mean(out["temperature"])


def convert(state: Any) -> Any:
    """Return the state of an `Agent`."""
    w = arrays(state)
    params = nnx.state(Agent(Choices(), nnx.Rngs(0)), nnx.Param)

    def leaf(path: Any, _: Any) -> Any:
        name = ".".join(key.key for key in path[:-1])
        return w[f"{name[:-6]}weight"].T if name.endswith("kernel") else w[name]

    return jax.tree_util.tree_map_with_path(leaf, params)


def pair(seed: int = 0, **choices: Any) -> dict[str, Any]:
    """Return SAC and its nnx port."""
    module = build(SAC, seed)
    graph = nnx.graphdef(Agent(Choices(**choices), nnx.Rngs(0)))
    rng = np.random.default_rng(seed)
    shapes = (STATE,), (ACTION,), (), (STATE,), (ACTION,), (ACTION,)
    return dict(
        module=module,
        fn=lambda params, *inputs: nnx.merge(graph, params)(*inputs),
        params=convert(module.state_dict()),
        converter=convert,
        inputs=tuple(rng.standard_normal((BATCH, *shape)) for shape in shapes),
        loss=(torch_loss, loss),
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "no_tanh_correction",
        "forward",
        "",
        plant=dict(correction=False),
        about="The log-probability ignores the tanh.",
        cause="torch's sub is missing(?!, JAX has its second)",
    ),
    Bug(
        "target_maximum",
        "forward",
        "",
        plant=dict(target_bound=jnp.maximum),
        about="The target takes the larger of the two critics.",
        cause="takes the maximum, torch takes the minimum",
    ),
    Bug(
        "target_not_detached",
        "structure",
        "target_*",
        silent=True,
        plant=dict(stop_target=identity),
        about="The target trains the target critics and the actor.",
        cause=missing_stop("no_grad|target = ", "stop_target|target_bound"),
    ),
    Bug(
        "alpha_not_detached",
        "gradients",
        "log_alpha",
        silent=True,
        plant=dict(stop_alpha=identity),
        about="The actor's loss trains the temperature.",
        cause=missing_stop(r"alpha\.detach\(\)", "stop_alpha"),
    ),
    Bug(
        "log_prob_not_detached",
        "backward",
        "",
        silent=True,
        plant=dict(stop_log_prob=identity),
        about="The temperature's loss trains the actor.",
        cause=missing_stop(r"log_prob\.detach\(\)", "stop_log_prob"),
    ),
    Bug(
        "critic_trained_by_actor",
        "gradients",
        "q*",
        silent=True,
        plant=dict(freeze=identity),
        about="The actor's loss trains the critics.",
        cause=missing_stop(r"p\.detach\(\)", r"self\.frozen"),
    ),
    Bug(
        "std_stopped",
        "structure",
        "log_std*",
        silent=True,
        plant=dict(stop_std=lax.stop_gradient),
        about="The deviation is detached.",
        cause=extra_stop("stop_std"),
    ),
    Bug(
        "action_stopped",
        "backward",
        "",
        silent=True,
        plant=dict(stop_action=lax.stop_gradient),
        about="The critics do not train the actor; the entropy still does.",
        cause=extra_stop("stop_action"),
    ),
)
