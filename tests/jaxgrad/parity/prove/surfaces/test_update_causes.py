"""The mistakes that people make with optimizers are named, each after torch was run with them."""

from typing import Any

import jax
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad.parity import Training
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.surfaces.update_causes import near, near_states, proportion
from tests.jaxgrad.parity.prove._helpers import updated


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def adamw(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, 1e-3)


def matrices_decayed(module: Any) -> Any:
    """Return AdamW that decays matrices alone, as language models are trained."""
    parameters = list(module.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim > 1]},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, 1e-3)


def clipped_by_a_hook(parameters: Any) -> Any:
    optimizer = torch.optim.SGD(parameters, 0.1)

    def clip(*_: Any) -> None:
        torch.nn.utils.clip_grad_norm_(parameters, 0.1)

    optimizer.register_step_pre_hook(clip)
    return optimizer


def matrices(params: Any) -> Any:
    return jax.tree.map(lambda x: x.ndim > 1, params)


def decaying(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


CLIP = optax.clip_by_global_norm(0.1)
SCHEDULE = optax.sgd(lambda step: 0.1 * 0.9 ** (step + 1))
CASES = {
    "default decay": (adamw, optax.adamw(1e-3), "is 0.0001 (optax.adamw's default), torch uses"),
    "decay everywhere": (
        matrices_decayed,
        optax.adamw(1e-3, weight_decay=1e-2),
        "the weight decay applies to all weights",
    ),
    "default decay everywhere": (
        matrices_decayed,
        optax.adamw(1e-3),
        "is 0.0001 for all weights (optax.adamw's default), torch uses 0.01 for 2 of 6",
    ),
    "decay mask": (
        adamw,
        optax.adamw(1e-3, weight_decay=1e-2, mask=matrices),
        "the weight decay is not applied to inner.bias, norm.weight, norm.bias and 1 more",
    ),
    "L2": (
        lambda p: torch.optim.Adam(p, 1e-3, weight_decay=1e-2),
        optax.adamw(1e-3, weight_decay=1e-2),
        "the weight decay is added to the gradient in one framework and decoupled in the other",
    ),
    "no clip": (clipped_by_a_hook, optax.sgd(0.1), "the gradients are not clipped"),
    "clip without eps": (
        Training(sgd, optax.chain(CLIP, optax.sgd(0.1)), clip=0.1),
        None,
        "optax.clip_by_global_norm lacks the 1e-6 that torch adds to the norm",
    ),
    "clip after": (
        clipped_by_a_hook,
        optax.chain(optax.sgd(0.1), CLIP),
        "the update is clipped instead of the gradient",
    ),
    "clip to another norm": (
        clipped_by_a_hook,
        optax.chain(optax.clip_by_global_norm(0.03), optax.sgd(0.1)),
        "the gradients are clipped to the norm 0.03, torch's is another one (rerunning torch",
    ),
    "an unusual number": (
        lambda p: torch.optim.Adam(p, 1e-3),
        optax.adam(1e-3, b2=0.93),
        "beta2 is 0.93, torch uses 0.999 (rerunning torch",
    ),
    "clip in JAX only": (
        sgd,
        optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)),
        "the gradients are clipped to the norm 1, torch does not clip them",
    ),
    "rmsprop": (
        lambda p: torch.optim.RMSprop(p, 1e-3),
        optax.rmsprop(1e-3),
        "the decay is 0.9 and eps is inside the square root, unlike torch's RMSprop",
    ),
    "rmsprop scale": (
        lambda p: torch.optim.RMSprop(p, 1e-3),
        optax.rmsprop(1e-3, decay=0.99, eps_in_sqrt=False, initial_scale=1.0),
        "initial_scale is 1, unlike torch's RMSprop",
    ),
    "adagrad": (
        lambda p: torch.optim.Adagrad(p, 1e-2),
        optax.adagrad(1e-2),
        "initial_accumulator_value is 0.1 and eps is 1e-07 and eps is inside the square root",
    ),
    "eps_root": (
        lambda p: torch.optim.Adam(p, 1e-3),
        optax.adam(1e-3, eps_root=1e-8),
        "eps_root is 1e-08, torch has none",
    ),
    "rate": (sgd, optax.sgd(0.3), "the learning rate is 3 times torch's"),
    "ahead": (Training(sgd, SCHEDULE, scheduler=decaying), None, "is one step ahead of torch's"),
    "no schedule": (
        Training(sgd, optax.sgd(0.1), scheduler=decaying),
        None,
        "the schedule is missing",
    ),
    "no accumulation": (
        Training(sgd, optax.sgd(0.1), accumulate=2),
        None,
        "the transformation updates the weights at each micro-batch",
    ),
    "average": (
        Training(sgd, optax.sgd(0.1), ema=(0.9, lambda a, p: optax.incremental_update(p, a, 0.1))),
        None,
        "the first average includes the initial weights, torch's copies",
    ),
}


@pytest.mark.parametrize(("torch_side", "tx", "cause"), CASES.values(), ids=CASES)
def test_a_frequent_mistake_is_named(evidence: Evidence, torch_side: Any, tx: Any, cause: str):
    """The update fails, and the cause names the mistake that gives JAX's weights in torch."""
    optimizer = torch_side if tx is None else (torch_side, tx)
    surface = updated(evidence, optimizer, 2)
    assert surface.verdict == "fail"
    assert cause in surface.findings[0].cause, surface.findings[0]


RIGHT = {
    "decay mask": (matrices_decayed, optax.adamw(1e-3, weight_decay=1e-2, mask=matrices)),
    "clip": (clipped_by_a_hook, optax.chain(jaxgrad.optim.clip_grad_norm(0.1), optax.sgd(0.1))),
    "rmsprop": (
        lambda p: torch.optim.RMSprop(p, 1e-3, alpha=0.9),
        optax.rmsprop(1e-3, eps_in_sqrt=False),
    ),
}


@pytest.mark.parametrize(("factory", "tx"), RIGHT.values(), ids=RIGHT)
def test_the_mended_optimizer_passes(evidence: Evidence, factory: Any, tx: Any):
    """Each of these mistakes passes once it is mended."""
    assert updated(evidence, (factory, tx), 2).verdict == "pass"


def test_the_weights_of_the_first_wrong_step_are_counted(evidence: Evidence):
    """Only the four weights that are masked wrongly are counted, not those that follow later."""
    tx = optax.adamw(1e-3, weight_decay=1e-2)
    surface = updated(evidence, (matrices_decayed, tx), 3)
    text = surface.text
    assert text == "3 of 6 weights differ after step 1"  # the fourth, inner.bias, is not zero


def test_proportion_is_a_factor_other_than_one():
    """Arrays have a proportion if they are multiples, but neither equal nor single numbers."""
    x = np.array([1.0, -2.0, 3.0])
    assert proportion(x, 2 * x) == pytest.approx(2)
    assert proportion(x, x) is None
    assert proportion(x, x + 1) is None
    assert proportion(x[:1], 2 * x[:1]) is None
    assert proportion(0 * x, x) is None


def test_near_is_relative_to_the_change():
    """Weights are near if they differ by at most 1e-9 of the change, in every compared step."""
    before, after = np.array([1.0, 2.0]), np.array([1.1, 2.0])
    assert near(after, after + 1e-11, before)
    assert not near(after, after + 1e-9, before)
    states = {1: {"w": after}}
    assert near_states(states, {1: {"w": after}}, {"w": before})
    assert near_states(states, {1: {}}, {"w": before})
    assert not near_states(states, {1: {"w": before}}, {"w": before})
