"""A small regression net with several optimizers of torch, and their ports to optax."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from torch import nn

import jaxgrad
from parity_tests.ports._weights import arrays, build, dense
from parity_tests.ports.bug import Bug


FEATURES, HIDDEN, BATCH, RATE, PERIOD, MAX_NORM = 3, 4, 5, 1e-2, 4, 0.05


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(FEATURES, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.outer = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        return self.outer(torch.tanh(self.norm(self.inner(x)))).squeeze(-1)


def apply(p: Any, x: Any) -> Any:
    h = x @ p["inner"]["kernel"] + p["inner"]["bias"]
    h = (h - jnp.mean(h, -1, keepdims=True)) / jnp.sqrt(jnp.var(h, -1, keepdims=True) + 1e-5)
    h = jnp.tanh(h * p["norm"]["scale"] + p["norm"]["bias"])
    return (h @ p["outer"]["kernel"] + p["outer"]["bias"])[:, 0]


def convert(state: Any) -> Any:
    """Return the weights of a `Net`."""
    w = arrays(state)
    layers = {name: dense(w, name) for name in ("inner", "outer")}
    return layers | {"norm": {"scale": w["norm.weight"], "bias": w["norm.bias"]}}


def decays(path: Any, x: Any) -> bool:
    del path
    return x.ndim > 1


def mask(rule: Callable[[Any, Any], bool]) -> Callable[[Any], Any]:
    return lambda params: jax.tree_util.tree_map_with_path(rule, params)


def groups(params: Any) -> torch.optim.Optimizer:
    """Return AdamW with decay on matrices alone."""
    params = list(params)
    return torch.optim.AdamW(
        [
            {"params": [p for p in params if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=RATE,
    )


def scheduled(schedule: Callable[[Any], Any]) -> Callable[[Any], torch.optim.Optimizer]:
    """Return a factory of SGD whose schedule makes a step after each of the optimizer's."""

    def factory(params: Any) -> torch.optim.Optimizer:
        optimizer = torch.optim.SGD(params, lr=RATE, momentum=0.9)
        scheduler = schedule(optimizer)
        optimizer.register_step_post_hook(lambda *_: scheduler.step())
        return optimizer

    return factory


def clipped(params: Any) -> torch.optim.Optimizer:
    """Return Adam, with the gradients clipped by their norm."""
    params = list(params)
    optimizer = torch.optim.Adam(params, lr=RATE)

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(params, MAX_NORM)

    optimizer.register_step_pre_hook(clip)
    return optimizer


def cosine(period: int = PERIOD, offset: int = 0) -> Callable[[Any], Any]:
    """Return the cosine schedule by its formula, in the working dtype."""
    return lambda count: RATE / 2 * (1.0 + jnp.cos(jnp.pi / period * (count + offset)))


def falling(factor: float = 0.1) -> Callable[[Any], Any]:
    """Return the rate of torch's `StepLR` for the first twenty steps."""
    return lambda count: jnp.where(count < 10, RATE, factor * RATE)


CLIP = optax.stateless(lambda grads, _: jaxgrad.clip_grad_norm(grads, MAX_NORM)[0])
SMALL = optax.stateless(lambda grads, _: jax.tree.map(lambda g: jnp.clip(g, -0.01, 0.01), grads))
TORCH: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adamw": lambda params: torch.optim.AdamW(params, lr=RATE),
    "adam_l2": lambda params: torch.optim.Adam(params, lr=RATE, weight_decay=0.1),
    "groups": groups,
    "rmsprop": lambda params: torch.optim.RMSprop(params, lr=RATE),
    "adagrad": lambda params: torch.optim.Adagrad(params, lr=RATE),
    "nesterov": lambda params: torch.optim.SGD(params, lr=RATE, momentum=0.9, nesterov=True),
    "cosine": scheduled(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, PERIOD)),
    "step": scheduled(lambda o: torch.optim.lr_scheduler.StepLR(o, 10)),
    "clipped": clipped,
}
RIGHT: dict[str, optax.GradientTransformation] = {
    "adamw": optax.adamw(RATE, weight_decay=1e-2),
    "adam_l2": optax.chain(optax.add_decayed_weights(0.1), optax.adam(RATE)),
    "groups": optax.adamw(RATE, weight_decay=0.1, mask=mask(decays)),
    "rmsprop": optax.rmsprop(RATE, decay=0.99, eps_in_sqrt=False),
    "adagrad": jaxgrad.optim.adagrad(RATE),
    "nesterov": optax.sgd(RATE, momentum=0.9, nesterov=True),
    "cosine": optax.sgd(cosine(), momentum=0.9),
    "step": optax.sgd(falling(), momentum=0.9),
    "clipped": optax.chain(CLIP, optax.adam(RATE)),
}


def pair(
    seed: int = 0,
    *,
    kind: str = "adamw",
    tx: optax.GradientTransformation | None = None,
    steps: int = 3,
) -> dict[str, Any]:
    """Return the net with one of the optimizers and its port."""
    module = build(Net, seed)
    rng = np.random.default_rng(seed)
    return dict(
        module=module,
        fn=apply,
        params=convert(module.state_dict()),
        converter=convert,
        inputs=(rng.standard_normal((BATCH, FEATURES)),),
        loss=(lambda y: (y - 1.0).square().mean(), lambda y: jnp.mean((y - 1.0) ** 2)),
        optimizer=(TORCH[kind], RIGHT[kind] if tx is None else tx),
        steps=steps,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {kind: dict(kind=kind) for kind in TORCH}


def planted(
    name: str,
    kind: str,
    tx: optax.GradientTransformation,
    about: str,
    *,
    cause: str,
    where: str = "inner.weight",
    unseen: bool = False,
) -> Bug:
    plant = dict(kind=kind, tx=tx)
    return Bug(
        name, "updates", where, silent=True, unseen=unseen, plant=plant, about=about, cause=cause
    )


BUGS: tuple[Bug, ...] = (
    planted(
        "default_decay",
        "adamw",
        optax.adamw(RATE),
        "optax's default decay is 1e-4, torch's 1e-2.",
        cause=r"weight decay is 0\.0001",
    ),
    planted(
        "coupled_decay",
        "adamw",
        optax.chain(optax.add_decayed_weights(1e-2), optax.adam(RATE)),
        "The decay is added to the gradient.",
        cause="decay is added to the gradient",
    ),
    planted(
        "decoupled_decay",
        "adam_l2",
        optax.adamw(RATE, weight_decay=0.1),
        "The decay is decoupled, torch's Adam adds it to the gradient.",
        cause="decay is added to the gradient|decoupled",
    ),
    planted(
        "eps_root",
        "adamw",
        optax.adamw(RATE, eps=0.0, eps_root=1e-8, weight_decay=1e-2),
        "The epsilon is inside the root.",
        cause="eps_root is 1e-08",
    ),
    planted(
        "decay_on_vectors",
        "groups",
        optax.adamw(RATE, weight_decay=0.1),
        "Biases and norms decay.",
        where="inner.bias",
        cause="decay applies to all weights",
    ),
    planted(
        "decay_by_name",
        "groups",
        optax.adamw(RATE, weight_decay=0.1, mask=mask(lambda path, x: path[-1].key != "bias")),
        "The mask is by name, so the norm's scale decays.",
        where="norm.weight",
        cause=r"decay is applied to norm\.weight, which",
    ),
    planted(
        "rmsprop_decay",
        "rmsprop",
        optax.rmsprop(RATE, eps_in_sqrt=False),
        "optax's default decay is 0.9, torch's alpha 0.99.",
        cause=r"decay is 0\.9,",
    ),
    planted(
        "rmsprop_eps",
        "rmsprop",
        optax.rmsprop(RATE, decay=0.99),
        "optax adds the epsilon inside the root.",
        cause="eps is inside the square root",
    ),
    planted(
        "adagrad_start",
        "adagrad",
        optax.adagrad(RATE),
        "optax's accumulator starts at 0.1, torch's at zero.",
        cause=r"initial_accumulator_value is 0\.1",
    ),
    planted(
        "no_nesterov",
        "nesterov",
        optax.sgd(RATE, momentum=0.9),
        "The momentum is not Nesterov's.",
        cause="nesterov",
    ),
    planted(
        "schedule_off_by_one",
        "cosine",
        optax.sgd(cosine(offset=1), momentum=0.9),
        "The schedule is one step ahead.",
        cause="one step ahead",
    ),
    planted(
        "schedule_period",
        "cosine",
        optax.sgd(cosine(PERIOD + 1), momentum=0.9),
        "The schedule ends one step later.",
        cause="one step (later|longer)|period|T_max",
    ),
    planted(
        "schedule_later",
        "step",
        optax.sgd(falling(0.5), momentum=0.9),
        "The rate falls by another factor, after the steps that are compared.",
        where="*",
        cause="5 times torch's|gamma",
    ),
    planted(
        "clip_missing",
        "clipped",
        optax.adam(RATE),
        "The gradients are not clipped.",
        cause="gradients are not clipped",
    ),
    planted(
        "clip_after",
        "clipped",
        optax.chain(optax.scale_by_adam(), CLIP, optax.scale(-RATE)),
        "Adam's step is clipped instead of the gradient.",
        cause="update is clipped instead of the gradient",
    ),
    planted(
        "clip_by_value",
        "clipped",
        optax.chain(SMALL, optax.adam(RATE)),
        "The gradients are clipped by value.",
        cause="clipped by value",
    ),
)
