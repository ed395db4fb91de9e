"""PPO for continuous actions, with one trunk for policy and value, and its port to functions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional

import jaxgrad
from parity_tests.case import identity
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug, extra_stop, missing_stop


OBSERVATION, ACTION, HIDDEN, BATCH = 4, 2, 6, 7
RATIO_CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT, MAX_NORM = 0.2, 0.5, 0.01, 0.05


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(OBSERVATION, HIDDEN), nn.Tanh())
        self.mean = nn.Linear(HIDDEN, ACTION)
        self.log_std = nn.Parameter(torch.zeros(ACTION))
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, observation, action, old, returns):
        h = self.trunk(observation)
        mean = self.mean(h)
        std = self.log_std.exp().expand_as(mean)
        normal = torch.distributions.Normal(mean, std, validate_args=False)
        value = self.value(h).squeeze(-1)
        advantage = returns - value.detach()
        return {
            "ratio": (normal.log_prob(action).sum(-1) - old).exp(),
            "advantage": (advantage - advantage.mean()) / (advantage.std() + 1e-8),
            "entropy": normal.entropy().sum(-1),
            "value": value,
        }


def torch_loss(out: Any, observation: Any, action: Any, old: Any, returns: Any) -> Any:
    del observation, action, old
    clipped = out["ratio"].clamp(1 - RATIO_CLIP, 1 + RATIO_CLIP)
    gain = torch.min(out["ratio"] * out["advantage"], clipped * out["advantage"]).mean()
    value = functional.mse_loss(out["value"], returns)
    return -gain + VALUE_WEIGHT * value - ENTROPY_WEIGHT * out["entropy"].mean()


def torch_adam(params: Any) -> torch.optim.Optimizer:
    params = list(params)
    optimizer = torch.optim.Adam(params, lr=3e-3, eps=1e-5)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(params, MAX_NORM)

    optimizer.register_step_pre_hook(clip)
    return optimizer


class Port(NamedTuple):
    """The JAX port and its options; values other than the default are porting mistakes."""

    ddof: int = 1
    entropy_sign: float = -1.0
    bound: Callable[[Any, Any], Any] = jnp.minimum
    stop_baseline: Callable[[Any], Any] = lax.stop_gradient
    stop_std: Callable[[Any], Any] = identity
    stop_entropy: Callable[[Any], Any] = identity
    stop_clipped: Callable[[Any], Any] = identity
    stop_features: Callable[[Any], Any] = identity

    def apply(self, p: Any, observation: Any, action: Any, old: Any, returns: Any) -> Any:
        h = jnp.tanh(observation @ p["trunk"]["kernel"] + p["trunk"]["bias"])
        mean = h @ p["mean"]["kernel"] + p["mean"]["bias"]
        log_std = self.stop_std(p["log_std"])
        z = (action - mean) * jnp.exp(-log_std)
        log_prob = jnp.sum(-0.5 * z**2 - log_std - 0.5 * jnp.log(2 * jnp.pi), -1)
        entropy = jnp.sum(self.stop_entropy(p["log_std"]) + 0.5 * (1 + jnp.log(2 * jnp.pi)))
        value = (self.stop_features(h) @ p["value"]["kernel"] + p["value"]["bias"])[:, 0]
        advantage = returns - self.stop_baseline(value)
        spread = jnp.std(advantage, ddof=self.ddof)
        return {
            "ratio": jnp.exp(log_prob - old),
            "advantage": (advantage - advantage.mean()) / (spread + 1e-8),
            "entropy": jnp.full(len(h), entropy),
            "value": value,
        }

    def loss(self, out: Any, observation: Any, action: Any, old: Any, returns: Any) -> Any:
        del observation, action, old
        clipped = self.stop_clipped(jnp.clip(out["ratio"], 1 - RATIO_CLIP, 1 + RATIO_CLIP))
        gain = jnp.mean(self.bound(out["ratio"] * out["advantage"], clipped * out["advantage"]))
        value = jnp.mean((out["value"] - returns) ** 2)
        entropy = self.entropy_sign * ENTROPY_WEIGHT * jnp.mean(out["entropy"])
        return -gain + VALUE_WEIGHT * value + entropy


def convert(state: Any) -> Any:
    """Return the weights of a `Policy` as a tree of kernels and biases."""
    w = arrays(state)
    names = {"trunk": "trunk.0", "mean": "mean", "value": "value"}
    return {"log_std": w["log_std"]} | {name: dense(w, of) for name, of in names.items()}


def clip(grads: Any) -> Any:
    return jaxgrad.clip_grad_norm(grads, MAX_NORM)[0]


def clip_each(grads: Any) -> Any:
    return jax.tree.map(clip, grads)


def adam(
    eps: float = 1e-5, clip: Callable[[Any], Any] = clip, order: int = 1
) -> optax.GradientTransformation:
    """Return Adam on clipped gradients; the arguments introduce mistakes."""
    parts = [optax.stateless(lambda grads, _: clip(grads)), optax.scale_by_adam(eps=eps)]
    return optax.chain(*parts[::order], optax.scale(-3e-3))


def pair(
    seed: int = 0, *, tx: optax.GradientTransformation | None = None, **options: Any
) -> dict[str, Any]:
    """Return the policy and its port."""
    module, port = build(Policy, seed), Port(**options)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=port.apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(
            rng.standard_normal((BATCH, OBSERVATION)),
            rng.standard_normal((BATCH, ACTION)),
            0.3 * rng.standard_normal(BATCH) - 2.5,
            rng.standard_normal(BATCH),
        ),
        loss=(torch_loss, port.loss),
        optimizer=(torch_adam, adam() if tx is None else tx),
        steps=2,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}

BUGS: tuple[Bug, ...] = (
    Bug(
        "biased_std",
        "forward",
        "",
        plant=dict(ddof=0),
        about="The advantage is normalised by numpy's biased deviation.",
        cause="std divides by N, torch divides by N - 1",
    ),
    Bug(
        "no_minimum",
        "forward",
        "loss",
        plant=dict(bound=lambda free, clipped: clipped),
        about="The loss uses the clipped ratio alone.",
        cause="torch's min is missing(?!, JAX has its first)",
    ),
    Bug(
        "entropy_sign",
        "forward",
        "loss",
        plant=dict(entropy_sign=1.0),
        about="The entropy is a penalty instead of a bonus.",
        cause="JAX adds, torch subtracts|sign of torch's mul is flipped",
    ),
    Bug(
        "baseline_not_detached",
        "backward",
        "",
        silent=True,
        plant=dict(stop_baseline=identity),
        about="The policy loss trains the value head through the advantage.",
        cause=missing_stop(r"value\.detach\(\)", "stop_baseline"),
    ),
    Bug(
        "std_stopped",
        "gradients",
        "log_std",
        silent=True,
        plant=dict(stop_std=lax.stop_gradient),
        about="The deviation trains by the entropy alone.",
        cause=extra_stop("stop_std"),
    ),
    Bug(
        "entropy_stopped",
        "gradients",
        "log_std",
        silent=True,
        plant=dict(stop_entropy=lax.stop_gradient),
        about="The entropy bonus trains nothing.",
        cause=extra_stop("stop_entropy"),
    ),
    Bug(
        "clipped_stopped",
        "backward",
        "loss",
        silent=True,
        plant=dict(stop_clipped=lax.stop_gradient),
        about="The clipped ratio is detached, so a tie of the minimum passes half a gradient.",
        cause=extra_stop("stop_clipped"),
    ),
    Bug(
        "features_stopped",
        "backward",
        ("trunk*", "value"),
        silent=True,
        plant=dict(stop_features=lax.stop_gradient),
        about="The value head does not train the trunk.",
        cause=extra_stop("stop_features"),
    ),
    Bug(
        "adam_eps",
        "updates",
        "log_std",
        silent=True,
        plant=dict(tx=adam(eps=1e-8)),
        about="Adam uses eps=1e-8 where PPO uses 1e-5.",
        cause="eps is 1e-08",
    ),
    Bug(
        "clip_after_adam",
        "updates",
        "log_std",
        silent=True,
        plant=dict(tx=adam(order=-1)),
        about="Adam's step is clipped instead of the gradient.",
        cause="update is clipped instead of the gradient",
    ),
    Bug(
        "clip_each_leaf",
        "updates",
        "log_std",
        silent=True,
        plant=dict(tx=adam(clip=clip_each)),
        about="Each leaf is clipped by its own norm.",
        cause="own norm",
    ),
)
