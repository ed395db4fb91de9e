"""The mistakes that people make with optimizers are named, each after torch was run with them."""

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad.parity import Training
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.surfaces import update_causes
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
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


@pytest.mark.sampled(3)
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


@pytest.mark.sampled(3)
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


OWN = {"a": 0.01, "b": 0.01, "n": 0.0, "m": 0.0}


@pytest.mark.parametrize(
    ("own", "decays", "text"),
    [
        (OWN, "0.01 0.01 0.01 0.01", "applies to all weights"),
        (OWN, "0.1 0.1 0.1 0.1", "is 0.1 for all weights, torch uses 0.01 for 2 of 4"),
        (OWN, "1e-4 1e-4 1e-4 1e-4",
         "is 0.0001 for all weights (optax.adamw's default), torch uses 0.01 for 2 of 4"),
        (OWN, "0 0 0 0", "is missing"),
        (OWN, "0.1 0.1 0 0", "is 0.1, torch uses 0.01"),
        (OWN, "1e-4 1e-4 0 0", "is 0.0001 (optax.adamw's default), torch uses 0.01"),
        (OWN, "0.1 0.01 0 0", "of a has another value"),
        (OWN, "0 0.01 0 0", "is not applied to a, which torch decays"),
        (OWN, "0.01 0.01 0.2 0", "is applied to n, which torch does not decay"),
        (OWN, "0.1 0 0.2 0", "is not applied to b, which torch decays and is applied to n, which "
         "torch does not decay and of a has another value"),
        (dict.fromkeys("abcd", 0.01), "0 0 0 0", "is missing"),
        (dict.fromkeys("abcd", 0.01), "0 0 0 0.01",
         "is not applied to a, b, c, which torch decays"),
        (dict.fromkeys("abcde", 0.01), "0 0 0 0 0.01",
         "is not applied to a, b, c and 1 more, which torch decays"),
        (dict.fromkeys("ab", 0.0), "0.1 0.1", "applies to all weights"),
        (dict.fromkeys("ab", 0.0), "0.1 0", "is applied to a, which torch does not decay"),
        ({"a": 0.01, "b": 0.02}, "0.02 0.02", "of a has another value"),
    ],
    ids=range(16),
)  # fmt: skip
def test_weight_decays_are_described_together(own, decays, text):
    """One value for all decayed weights, or for all weights, is said in one clause."""
    values = dict(zip(own, map(float, decays.split()), strict=True))
    assert update_causes._decay_text(own, values) == f"the weight decay {text}"


@pytest.mark.parametrize(
    ("scale", "off", "factor"),
    [(2.0, 0.0, 2.0), (2.0, 1e-10, 2.0), (2.0, 1e-8, None), (1 + 1.5e-6, 0.0, 1 + 1.5e-6),
     (1 + 0.9e-6, 0.0, None), (0.0, 0.0, None), (-1.0, 0.0, -1.0)],
)  # fmt: skip
def test_a_proportion_is_exact_up_to_rounding(scale, off, factor):
    """A factor differs from 1 by more than 1e-6, and the rest is below 1e-9."""
    x, across = np.array([3.0, 4.0]), np.array([4.0, -3.0])
    expected = None if factor is None else pytest.approx(factor, rel=1e-12)
    assert proportion(x, scale * x + off * across) == expected
    assert proportion(x[:0], x[:0]) is None


@pytest.mark.parametrize(
    ("change", "off", "is_near"),
    [
        (1.0, 0.9e-9, True),
        (1.0, 1.1e-9, False),
        (0.0, 3.9 * 2**-52, True),
        (0.0, 4.1 * 2**-52, False),
    ],
)  # fmt: skip
def test_weights_are_near_within_a_billionth_of_their_change(change, off, is_near):
    """A weight of 1 that does not change is rounded by a few units in the last place."""
    before = np.array([1.0, 0.0])
    x = before + np.array([0.0, change])
    assert near(x, x + np.array([0.0, off]), before) is is_near


class Clock:
    """A clock that advances by a fixed number of seconds at each reading."""

    def __init__(self, seconds: float):
        self.now, self.seconds = 0.0, seconds

    def perf_counter(self) -> float:
        self.now += self.seconds
        return self.now


BEFORE = {"w": np.array([1.0, 2.0])}


def trained(torch_move: float = 1.0, jax_move: float = 3.0, other: float = 0.0) -> Trajectories:
    move, bend = np.array([0.5, -0.25]), np.array([0.25, 0.5])
    left, right = (
        {step: {"w": BEFORE["w"] + step * size * move + off * bend} for step in (1, 2)}
        for size, off in ((torch_move, 0.0), (jax_move, other))
    )
    return Trajectories(BEFORE, left, right, [], {}, [], None, ({}, {}))


def variant(text: str, **fields: Any) -> Any:
    return SimpleNamespace(text=text, training=text, **fields)


@pytest.mark.parametrize(
    ("right", "seconds", "tried", "text"),
    [
        ("a", 1.0, ["a"], "a (rerunning torch with this change reproduces JAX's weights)"),
        ("b", 1.0, ["a", "fails", "b"], "b (rerunning torch with this change reproduces"),
        ("b", 61.0, ["a"], "the first step is 3 times torch's"),
        ("", 1.0, ["a", "fails", "b"], "the first step is 3 times torch's"),
    ],
)
def test_variants_are_tried_until_one_agrees(monkeypatch, right, seconds, tried, text):
    """A variant that torch rejects is skipped, and the search ends after a minute."""
    texts: list[str] = []

    def rerun(evidence: Any, variant: Any, steps: int) -> Any:
        assert steps == 2
        texts.append(variant.text)
        return None if variant.text == "fails" else variant.text

    variants = [variant(name) for name in ("a", "fails", "b")]
    monkeypatch.setattr(update_causes, "_variants", lambda *_: iter(variants))
    monkeypatch.setattr(update_causes, "_rerun", rerun)
    monkeypatch.setattr(update_causes, "time", Clock(seconds))
    proof: Any = SimpleNamespace(rerunnable=True)
    agrees: Any = lambda taken: taken == right  # noqa: E731
    cause = update_causes.guess(proof, Training(None), trained(), agrees, "w")
    assert cause.startswith(text) and texts == tried


@pytest.mark.parametrize(
    ("taken", "training", "text"),
    [
        (trained(), Training(None), "the first step is 3 times torch's"),
        (trained(other=0.1), Training(None), ""),
        (trained(torch_move=0.0), Training(None), "torch skips the weight, which has no gradient"),
        (trained(), Training(None, accumulate=2), "the transformation updates the weights at each"),
    ],
)
def test_an_unexplained_difference_is_described(taken, training, text):
    """A dump cannot be trained again, but its first step may be a multiple."""
    proof: Any = SimpleNamespace(rerunnable=False)
    cause = update_causes.guess(proof, training, taken, lambda taken: True, "w")
    assert cause.startswith(text) and bool(cause) == bool(text)


def test_micro_batches_are_counted_in_the_state_of_multi_steps():
    """A state that counts them needs no other transformation."""
    params = np.ones(2)
    counts = update_causes._counts_micro_batches
    assert counts(optax.MultiSteps(optax.sgd(0.1), 2).init(params))
    assert not counts(optax.adam(0.1).init(params))
    state = optax.MultiSteps(optax.sgd(0.1), 2).init(params)
    taken = trained()._replace(opt_state=state)
    proof: Any = SimpleNamespace(rerunnable=False)
    training = Training(None, accumulate=2)
    cause = update_causes.guess(proof, training, taken, lambda taken: True, "w")
    assert cause == "the first step is 3 times torch's"


@pytest.mark.parametrize(
    ("moves", "text"),
    [
        ([(1.0, 3.0), (2.0, 6.0)], "the learning rate is 3 times torch's"),
        ([(1.0, 3.0), (2.0, 5.0)], ""),
        ([(1.0, 3.0), (0.0, 5.0)], "the learning rate is 3 times torch's"),
        ([(1.0, 1.0), (2.0, 2.0)], ""),
        ([(1.0, 3.0), (2.0, 6.0 * (1 + 1e-7))], "the learning rate is 3 times torch's"),
        ([(1.0, 3.0), (2.0, 6.0 * (1 + 1e-5))], ""),
        ([(1.0, 3.0), (1.0, None)], "the learning rate is 3 times torch's"),
    ],
)
def test_one_factor_of_all_first_steps_is_a_learning_rate(moves, text):
    """A weight that does not move, or that the port lacks, is left out."""
    move = np.array([0.5, -0.25])
    names = "ab"
    before = {n: np.array([1.0, 2.0]) for n in names}
    left, right = (
        {n: before[n] + m[k] * move for n, m in zip(names, moves, strict=True) if m[k] is not None}
        for k in (0, 1)
    )
    taken = Trajectories(before, {1: left}, {1: right}, [], {}, [], None, ({}, {}))
    found = [v.text for v in update_causes._rates(Training(sgd), taken)]
    assert found == ([text] if text else [])
