"""A frequent mistake with optimizers is named after rerunning torch with it confirms it."""

from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import jaxgrad
from jaxgrad.parity import Training, prove
from jaxgrad.parity.prove.causes import acceptance, schedules
from jaxgrad.parity.prove.causes import updates as update_causes
from jaxgrad.parity.prove.causes.acceptance import Compared
from jaxgrad.parity.prove.causes.updates import Search, near
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.torch_side import loop
from jaxgrad.parity.prove.record.torch_side.side import Steps
from jaxgrad.parity.prove.record.torch_side.variants import Variant
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories
from jaxgrad.parity.prove.wording import NO_DIFFERENCE, InJax, Missing, Setting
from tests.jaxgrad.parity.prove._helpers import arrays, draw, updated


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def adamw(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, 1e-3)


def matrices_decayed(module: Any) -> Any:
    """Return AdamW with weight decay for matrices only, as is usual for language models."""
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


def averaged(module: Any) -> Any:
    """Return torch's usual average, which copies the weights at its first update."""
    return AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))


def values(parameters: Any) -> None:
    torch.nn.utils.clip_grad_value_(parameters, 0.01)


def averaged_before(module: Any) -> Any:
    """Return torch's average of a module that was averaged once."""
    average = averaged(module)
    average.n_averaged.fill_(1)
    return average


def exchanged(average: Any, params: Any) -> Any:
    return jax.tree.map(lambda a, x: 0.1 * a + 0.9 * x, average, params)


def clipped_late(decay: float) -> Any:
    """Return AdamW that clips the update of Adam, before it adds the weight decay."""
    return optax.chain(
        optax.scale_by_adam(),
        jaxgrad.optim.clip_grad_norm(0.1),
        optax.add_decayed_weights(decay),
        optax.scale_by_learning_rate(1e-3),
    )


def warmup(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))


def warmed_up(decay: float) -> Any:
    """Return AdamW with a weight decay of matrices, and the rate of `warmup`."""
    return optax.chain(
        optax.scale_by_adam(),
        optax.masked(optax.add_decayed_weights(decay), matrices),
        optax.scale_by_learning_rate(lambda step: 1e-3 * jnp.minimum(1.0, (step + 1) / 5)),
    )


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
        "the weight decay is decoupled, torch adds it to the gradient",
    ),
    "decay after the momentum": (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-2),
        optax.chain(
            optax.trace(0.9), optax.add_decayed_weights(1e-2), optax.scale_by_learning_rate(0.1)
        ),
        "the weight decay is decoupled, torch adds it to the gradient",
    ),
    "decoupled in torch": (
        adamw,
        optax.chain(optax.add_decayed_weights(1e-2), optax.adam(1e-3)),
        "the weight decay is added to the gradient, torch decouples it",
    ),
    "dampened from the first step": (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, dampening=0.3),
        optax.chain(optax.scale(0.7), optax.sgd(0.1, momentum=0.9)),
        "the dampening applies to the first gradient too",
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
    "clip before the decay": (
        Training(adamw, clipped_late(1e-2), clip=0.1),
        None,
        "the update is clipped instead of the gradient",
    ),
    "another decay in a warmup": (
        Training(matrices_decayed, warmed_up(2e-3), scheduler=warmup),
        None,
        "the weight decay is 0.002, torch uses 0.01",
    ),
    "clip by value for a norm": (
        clipped_by_a_hook,
        optax.chain(optax.clip(0.01), optax.sgd(0.1)),
        "the gradients are clipped by value to 0.01, torch clips them by norm",
    ),
    "clip by norm for values": (
        Training(sgd, optax.chain(jaxgrad.optim.clip_grad_norm(0.1), optax.sgd(0.1)), clip=values),
        None,
        "the gradients are clipped by norm to 0.1, torch clips them by value",
    ),
    "clip to another norm": (
        clipped_by_a_hook,
        optax.chain(optax.clip_by_global_norm(0.03), optax.sgd(0.1)),
        "the gradients are clipped to the norm 0.03, torch clips to another norm (rerunning torch",
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
    "decay after SGD": (
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=1e-2),
        optax.chain(optax.sgd(0.1, momentum=0.9), optax.add_decayed_weights(1e-2)),
        "the weight decay is added to the update, after the learning rate and its sign",
    ),
    "decay after plain SGD": (
        lambda p: torch.optim.SGD(p, 0.1, weight_decay=1e-2),
        optax.chain(optax.sgd(0.1), optax.add_decayed_weights(1e-2)),
        "the weight decay is added to the update, after the learning rate and its sign",
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
        "the transformation changes the weights at each micro-batch, torch's optimizer after all "
        "2; wrap it in optax.MultiSteps(tx, 2)",
    ),
    "accumulation of updates": (
        Training(
            lambda p: torch.optim.Adam(p, 1e-2),
            optax.chain(optax.adam(1e-2), optax.apply_every(4)),
            accumulate=4,
        ),
        None,
        "ScaleByAdamState counts 8 updates in 2 steps: the transformation in it is called at each "
        "micro-batch, torch's optimizer once for all 4. Give it the mean of their gradients",
    ),
    "micro-batches that are summed": (
        Training(
            lambda p: torch.optim.Adam(p, 1e-2, eps=1e-3),
            optax.MultiSteps(
                optax.chain(jaxgrad.optim.clip_grad_norm(0.5), optax.adam(1e-2, eps=1e-3)),
                2,
                use_grad_mean=False,
            ).gradient_transformation(),
            accumulate=2,
            clip=0.5,
        ),
        None,
        "the gradients of the 2 micro-batches are summed, torch's loop takes their mean",
    ),
    "average": (
        Training(sgd, optax.sgd(0.1), ema=(0.9, lambda a, p: optax.incremental_update(p, a, 0.1))),
        None,
        "the first average includes the initial weights, torch's copies",
    ),
    "an average with exchanged factors": (
        Training(sgd, optax.sgd(0.1), ema=(averaged_before, exchanged)),
        None,
        "the factors of the average and of the new weights are exchanged",
    ),
    "average that a function makes": (
        Training(
            sgd, optax.sgd(0.1), ema=(averaged, lambda a, p: optax.incremental_update(p, a, 0.1))
        ),
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


def test_a_clip_without_eps_is_no_other_learning_rate():
    """Clipped by both programs, a gradient of norm 1 gives rates that differ by a millionth."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 2))
    tx = optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1))

    def port(p: Any, x: Any) -> jax.Array:
        return x @ p["0.weight"].T + p["0.bias"]

    x = np.random.default_rng(0).normal(size=(5, 3))

    def square(h: Any) -> Any:
        return (h**2).mean()

    training = Training(sgd, tx, clip=0.5)
    report = prove(
        module, port, arrays(module), (x,), loss=(square, square), optimizer=training, steps=3
    )
    assert report.first is not None
    right = "optax.clip_by_global_norm lacks the 1e-6 that torch adds to the norm"
    assert report.first.cause.startswith(right)


RIGHT = {
    "decay mask": (matrices_decayed, optax.adamw(1e-3, weight_decay=1e-2, mask=matrices)),
    "clip": (clipped_by_a_hook, optax.chain(jaxgrad.optim.clip_grad_norm(0.1), optax.sgd(0.1))),
    "rmsprop": (
        lambda p: torch.optim.RMSprop(p, 1e-3, alpha=0.9),
        optax.rmsprop(1e-3, eps_in_sqrt=False),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("factory", "tx", "cause"),
    [
        (lambda p: torch.optim.RMSprop(p, 1e-3), optax.rmsprop(1e-3, eps_in_sqrt=False),
         "the decay is 0.9, unlike torch's RMSprop"),
        (lambda p: torch.optim.RMSprop(p, 1e-3), optax.rmsprop(1e-3, decay=0.99),
         "eps is inside the square root, unlike torch's RMSprop"),
    ],
)  # fmt: skip
def test_one_change_with_two_descriptions_is_one_cause(evidence: Evidence, factory, tx, cause):
    """Two changes are the same if torch trains alike with both, even on other gradients."""
    (finding,) = updated(evidence, (factory, tx), 3).findings
    assert finding.tested and finding.cause.startswith(cause), finding


@pytest.mark.parametrize("steps", [1, 2])
def test_changes_that_agree_in_the_compared_steps_are_compared_in_others(
    evidence: Evidence, steps: int
):
    """The first step with Nesterov's momentum equals one with 1.9 times the learning rate."""
    tx = optax.sgd(0.1, momentum=0.9, nesterov=True)
    pair = (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), tx)
    (finding,) = updated(evidence, pair, steps).findings
    assert finding.tested and finding.cause.startswith("nesterov is True, torch uses False (")


def test_a_clip_that_changes_no_gradient_of_the_compared_steps_is_confirmed(evidence: Evidence):
    """Only the norm of all weights is above the bound, so that no clip of one weight changes any.

    Larger gradients show that the port clips each weight.
    """
    count = len(evidence.port.program.param_paths)
    grads = [x for x in evidence.jax_gradients[0].leaves[:count] if x is not None]
    norms = [float(np.linalg.norm(x)) for x in grads]
    bound = (max(norms) + float(np.linalg.norm(norms))) / 2

    def clip_each(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        factors = jax.tree.map(lambda g: jnp.minimum(1.0, bound / jnp.linalg.norm(g)), updates)
        return jax.tree.map(jnp.multiply, updates, factors), state

    own = optax.GradientTransformation(lambda params: optax.EmptyState(), clip_each)
    training = Training(sgd, optax.chain(own, optax.sgd(0.1)), clip=bound)
    finding = updated(evidence, training, 1).findings[0]

    assert finding.tested
    assert finding.cause.startswith("each weight's gradient is clipped by its own norm, torch uses")


@pytest.mark.parametrize("clip", [optax.clip_by_global_norm, jaxgrad.optim.clip_grad_norm])
def test_a_clip_inside_of_each_group_is_named(evidence: Evidence, clip: Any):
    """The transformation of a group sees the gradients of its own weights alone."""

    def grouped(module: torch.nn.Module) -> torch.optim.Optimizer:
        params = [*module.parameters()]
        groups = [[p for p in params if (p.ndim > 1) is matrix] for matrix in (True, False)]
        return torch.optim.SGD([{"params": group} for group in groups], 0.1, momentum=0.9)

    def labels(params: Any) -> Any:
        return jax.tree.map(lambda p: str(jnp.ndim(p) > 1), params)

    each = optax.chain(clip(0.01), optax.sgd(0.1, momentum=0.9))
    tx = optax.partition({"True": each, "False": each}, labels)
    finding = updated(evidence, Training(grouped, tx, clip=0.01), 2).findings[0]

    assert finding.tested and finding.cause.startswith(
        "the gradients of each parameter group are clipped by the group's own norm, torch uses the"
    )


def test_a_scheduler_that_ends_with_the_last_step_is_searched(evidence: Evidence):
    """A OneCycleLR raises if it is asked for a rate after its last step."""

    def one_cycle(optimizer: Any) -> Any:
        schedule = torch.optim.lr_scheduler.OneCycleLR
        return schedule(optimizer, 0.1, total_steps=3, cycle_momentum=False)

    made = torch.optim.SGD([torch.zeros(1)], 0.1)
    scheduler, rates = one_cycle(made), []
    for _ in range(3):
        rates.append(2 * made.param_groups[0]["lr"])
        made.step()
        scheduler.step()

    def rate(n: Any) -> Any:
        return jnp.where(n == 0, rates[0], jnp.where(n == 1, rates[1], rates[2]))

    training = Training(sgd, optax.sgd(rate), scheduler=one_cycle)
    finding = updated(evidence, training, 3).findings[0]

    assert finding.tested
    assert finding.cause.startswith(
        "the learning rates differ first in step 1 (steps count from 1), in which torch's is "
        "0.0994415 and JAX's is 0.198883 ("
    )


def exponential(parameters: Any) -> Any:
    """Return an optimizer that steps a scheduler of its own."""
    optimizer = torch.optim.SGD(parameters, 0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.register_step_post_hook(lambda *_: scheduler.step())
    return optimizer


@pytest.mark.parametrize("steps", [1, 2])
def test_an_exponential_schedule_that_is_ahead_may_also_be_a_smaller_rate(evidence, steps):
    """The two changes cannot be told apart, so both are named and neither is confirmed."""
    pair = (exponential, optax.sgd(lambda step: 0.1 * 0.5 ** (step + 1)))
    (finding,) = updated(evidence, pair, steps).findings

    compared = "in the compared step" if steps == 1 else "in the 2 compared steps"
    assert not finding.tested
    assert finding.cause == (
        f"either the learning rate is 0.5 times torch's {compared}, or the schedule is one step "
        "ahead of torch's (rerunning torch with either of these changes reproduces JAX's weights)"
    )


def test_a_rate_is_found_although_a_weight_has_one_element(evidence):
    """A weight with one element is proportional to any other, so it does not count."""
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 1)
    report = prove(module, lambda p, x: x @ p["weight"].T + p["bias"], arrays(module),
                   (draw(4, 3),), optimizer=(sgd, optax.sgd(0.3)))  # fmt: skip

    assert report.first is not None and report.first.tested
    assert report.first.cause.startswith("the learning rate is 3 times torch's (")


@pytest.mark.parametrize(
    ("kind", "chain"),
    [(torch.optim.SGD, optax.sgd(0.1)), (torch.optim.Adam, optax.adam(0.1))],
    ids=["sgd", "adam"],
)
@pytest.mark.parametrize("clip", [CLIP, jaxgrad.optim.clip_grad_norm(0.1)], ids=["optax", "torch"])
def test_clipping_after_the_weight_decay_is_named(evidence, kind, chain, clip):
    """torch adds the weight decay to the gradient in `step`, after clipping."""
    training = Training(
        lambda p: kind(p, 0.1, weight_decay=0.5),
        optax.chain(optax.add_decayed_weights(0.5), clip, chain),
        clip=0.1,
    )
    (finding,) = updated(evidence, training, 2).findings

    assert finding.tested, finding
    assert finding.cause.startswith(
        "the gradients are clipped after the weight decay is added to them, torch clips them before"
    )


@pytest.mark.parametrize("steps", [1, 4])
def test_a_given_schedule_that_is_ahead_is_described_once(evidence, steps):
    """That both schedules differ first in some step follows from the shift."""

    def rate(step: Any) -> Any:
        return 0.1 * 0.5 ** ((step + 1) // 3)

    def make(optimizer: Any) -> Any:
        return torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)

    training = Training(sgd, optax.sgd(rate), scheduler=make, schedule=rate, total=9)
    finding = updated(evidence, training, steps).findings[0]

    assert "one step ahead of torch's" in finding.cause
    assert "differ first" not in finding.cause


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("factory", "tx"), RIGHT.values(), ids=RIGHT)
def test_the_mended_optimizer_passes(evidence: Evidence, factory: Any, tx: Any):
    """The port passes once the mistake is corrected."""
    assert updated(evidence, (factory, tx), 2).verdict == "pass"


def test_the_weights_of_the_first_wrong_step_are_counted(evidence: Evidence):
    """Only the four weights that are masked wrongly are counted, not those that follow later."""
    tx = optax.adamw(1e-3, weight_decay=1e-2)
    surface = updated(evidence, (matrices_decayed, tx), 3)
    text = surface.text
    assert text == "3 of 6 weights differ after step 1"  # the fourth, inner.bias, is not zero


def test_near_is_relative_to_the_change():
    """Weights are near if they differ by at most 1e-9 of the change."""
    before, after = np.array([1.0, 2.0]), np.array([1.1, 2.0])
    assert near(after, after + 1e-11, before)
    assert not near(after, after + 1e-9, before)


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
    """A weight decay that is equal for all (decayed) weights is described in one clause."""
    values = dict(zip(own, map(float, decays.split()), strict=True))
    assert update_causes._decay(own, values).of_jax == f"the weight decay {text}"


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


BEFORE = {"w": np.array([1.0, 2.0])}


def trained(torch_move: float = 1.0, jax_move: float = 3.0, other: float = 0.0) -> Trajectories:
    move, bend = np.array([0.5, -0.25]), np.array([0.25, 0.5])
    left, right = (
        {step: {"w": BEFORE["w"] + step * size * move + off * bend} for step in (1, 2)}
        for size, off in ((torch_move, 0.0), (jax_move, other))
    )
    return Trajectories(BEFORE, left, right, [], {}, [], None, ({}, {}))


def judged(paths: Trajectories) -> list[Compared]:
    """Compare the weights after every step."""
    found = []
    for step, weights in paths.torch.items():
        off = float(np.abs(weights["w"] - paths.jax[step]["w"]).max())
        low, high, size = acceptance.range_of(paths.jax[step]["w"] - BEFORE["w"])
        verdict = "fail" if off > 1e-12 else "pass"
        found.append(Compared(f"w after step {step}", verdict, off, low, high, step, size))
    return found


class Torch:
    """A training loop whose updates depend on the variants that were applied."""

    def __init__(self, moves: dict[str, list[float]]):
        self.moves, self.tried = moves, []

    def rerun(self, evidence: Any, variant: Any, steps: int, kept: Any, first: Any) -> Any:
        assert max(kept) == 3
        self.tried.append((variant.text, steps))
        if variant.text not in self.moves or variant.training not in self.moves:
            return None
        moves = np.cumsum(self.moves[variant.training])[:steps]
        return Steps({k: {"w": BEFORE["w"] + m * MOVE} for k, m in enumerate(moves, 1)}, {}, [])


MOVE = np.array([0.5, -0.25])


SETTINGS = {
    x.of_jax: x for x in (Setting("eps", "1e-08"), Setting("eps", "1e-08", "1e-05"))
}  # of variants with these names


def searched(
    monkeypatch: Any, moves: dict[str, list[float]], jax_moves: list[float], left: int = 99
) -> tuple[tuple[str, bool], list[tuple[str, int]]]:
    """Search for a cause; `moves` gives the updates of each variant, "a+b" those of two at once."""
    right, wrong = (
        {k: {"w": BEFORE["w"] + m * MOVE} for k, m in enumerate(np.cumsum(x), 1)}
        for x in (moves["own"], jax_moves)
    )
    taken = Trajectories(BEFORE, right, wrong, [], {}, [], None, ({}, {}))
    torch_loop, count = Torch(moves), iter(range(left))
    names = [name for name in moves if name != "own" and "+" not in name]

    def variants(self: Any, training: Any, paths: Any) -> Any:
        for name in names:
            both: Any = name if training == "own" else "+".join(sorted((training, name)))
            scales, schedule = name.startswith("rate"), name.startswith("schedule")
            text = SETTINGS.get(name, InJax(name))
            yield Variant(text, both, scales=scales, schedule=schedule)
        yield Variant(InJax("fails"), cast("Any", training))

    monkeypatch.setattr(update_causes.Search, "_variants", variants)
    monkeypatch.setattr(update_causes, "_rerun", torch_loop.rerun)
    proof: Any = SimpleNamespace(
        rerunnable=True, reference="torch", may_search=lambda _: next(count, None) is not None
    )
    step = next(c.step for c in judged(taken) if c.verdict == "fail")
    search = Search(proof, "own", taken, judged, step)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(Search, "_observed", lambda *_: InJax("what was observed"))
    monkeypatch.setattr(update_causes, "_of_micro_batches", lambda *_: NO_DIFFERENCE)
    monkeypatch.setattr(update_causes.schedules, "trains_alike", lambda *_: False)
    monkeypatch.setattr(update_causes.schedules, "lasting", lambda _, found: found)
    monkeypatch.setattr(update_causes.schedules, "later_step", lambda *_: None)
    monkeypatch.setattr(update_causes.schedules, "distinct", lambda _, found, steps: found)
    monkeypatch.setattr(Search, "_observed_rates", lambda _: None)
    monkeypatch.setattr(Search, "_knows_gradients", lambda *_: False)
    return search.guess("w"), torch_loop.tried


TESTED = "(rerunning torch with this change reproduces JAX's weights)"


def test_a_change_that_explains_every_step_is_the_cause(monkeypatch):
    """Each change is tried up to the first step that differs, and only then in all steps."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [2, 1, 1], "b": [1, 2, 2]}
    cause, tried = searched(monkeypatch, moves, [1, 2, 2])

    assert cause == (f"b {TESTED}", True)
    assert tried == [("a", 2), ("b", 2), ("b", 3), ("fails", 2)]


def test_two_changes_that_explain_every_step_are_both_possible(monkeypatch):
    """If two changes explain every step, neither is confirmed."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [1, 2, 2], "b": [1, 2, 2], "c": [1, 1, 2]}
    text = "either a, or b (rerunning torch with either of these changes reproduces JAX's weights)"
    assert searched(monkeypatch, moves, [1, 2, 2])[0] == (text, False)


def test_a_change_without_an_effect_explains_nothing(monkeypatch):
    """A change that leaves the difference is not its cause."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [1, 1, 1 + 1e-13]}
    assert searched(monkeypatch, moves, [1, 1, 1.5])[0] == ("what was observed", False)


def test_a_second_mistake_is_found_after_the_first(monkeypatch):
    """One change explains the steps before the second difference, and both explain the rest."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [2, 2, 1], "b": [1, 1, 3], "a+b": [2, 2, 3]}
    cause, tried = searched(monkeypatch, moves, [2, 2, 3])

    both = "(rerunning torch with both changes reproduces JAX's weights)"
    assert cause == (f"a, and b, seen from step 3 on {both}", True)
    assert tried[-2:] == [("b", 3), ("fails", 3)]


def test_a_factor_of_all_rates_is_not_named_beside_a_schedule(monkeypatch):
    """The factor would be a statement about all compared steps, which the schedule contradicts."""
    moves: dict[str, Any] = {
        "own": [1, 1, 1], "rate": [2, 2, 1], "schedule": [1, 1, 3], "rate+schedule": [2, 2, 3],
    }  # fmt: skip
    assert searched(monkeypatch, moves, [2, 2, 3])[0] == ("what was observed", False)
    moves |= {"a": moves["schedule"], "a+rate": moves["rate+schedule"]}
    cause, confirmed = searched(monkeypatch, moves, [2, 2, 3])[0]
    assert confirmed and cause.startswith("rate, and a, seen from step 3 on (")


def test_a_change_that_explains_the_first_steps_alone_is_not_confirmed(monkeypatch):
    """The report says up to which step it explains the difference."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [2, 2, 1], "a+a": [2, 2, 2]}
    text = "a (with this change torch gives JAX's weights up to step 2, and step 3 still differs)"
    assert searched(monkeypatch, moves, [2, 2, 3])[0] == (text, False)
    moves["b"] = [2, 2, 0]
    assert searched(monkeypatch, moves, [2, 2, 3])[0] == ("what was observed", False)


def test_one_setting_with_two_texts_is_one_cause(monkeypatch):
    """The same value may be tried as a default and as a constant of the port's program."""
    moves: dict[str, Any] = {
        "own": [1, 1, 1], "eps is 1e-08": [1, 2, 2], "eps is 1e-08, torch uses 1e-05": [1, 2, 2],
    }  # fmt: skip
    cause, _ = searched(monkeypatch, moves, [1, 2, 2])
    assert cause == (f"eps is 1e-08, torch uses 1e-05 {TESTED}", True)
    kinds = [Missing("the momentum"), Setting("momentum", "0.5"), InJax("a")]
    assert update_causes._different(kinds) == kinds


@pytest.mark.parametrize(
    ("kind", "setting", "text"),
    [
        (torch.optim.Adam, Setting("beta2", "0.99"), "beta2 is 0.99, torch uses 0.999"),
        (torch.optim.Adam, Setting("beta1", "0.5"), "beta1 is 0.5, torch uses 0.9"),
        (torch.optim.Adam, Setting("eps", "1e-06"), "eps is 1e-06, torch uses 1e-08"),
        (torch.optim.SGD, Setting("the momentum", "0.9"), "the momentum is 0.9, torch uses 0"),
        (torch.optim.SGD, Setting("eps", "1e-06"), "eps is 1e-06"),
        (torch.optim.Adam, Missing("the momentum"), "the momentum is missing"),
    ],
)
def test_a_setting_is_named_with_torchs_value(kind: Any, setting: Any, text: str):
    """The report has both values of a setting."""
    own = loop.settings(Training(lambda ps: kind(ps, 0.1)), torch.nn.Linear(2, 1))
    assert update_causes._with_torchs(setting, own).of_jax == text
    own = {**own, "other": {**own["weight"], "betas": (0.8, 0.95), "eps": 1.0, "momentum": 0.3}}
    assert update_causes._with_torchs(setting, own) == setting


def test_a_search_ends_when_its_time_is_over(monkeypatch):
    """When its time is over, the search tries no further change."""
    moves: dict[str, Any] = {"own": [1, 1, 1], "a": [1, 3, 1], "b": [1, 2, 2]}
    cause, tried = searched(monkeypatch, moves, [1, 2, 2], left=1)
    assert cause == ("what was observed", False) and tried == [("a", 2)]


@pytest.mark.parametrize(
    ("taken", "training", "text"),
    [
        (trained(), Training(None), "the first step is 3 times torch's"),
        (trained(other=0.1), Training(None), ""),
        (trained(torch_move=0.0), Training(None), "torch skips the weight, which has no gradient"),
    ],
)
def test_an_unexplained_difference_is_described(taken, training, text):
    """A dump cannot be rerun, but a first step that is a multiple of torch's is described."""
    proof: Any = SimpleNamespace(rerunnable=False, reference="torch")
    cause, confirmed = Search(proof, training, taken, judged, 1).guess("w")
    assert cause.startswith(text) and bool(cause) == bool(text) and not confirmed


def test_micro_batches_are_counted_in_the_state_of_multi_steps():
    """If the optimizer state has a counter of micro-batches, no other change is suggested."""
    params = np.ones(2)
    counts = update_causes._counts_micro_batches
    assert counts(optax.MultiSteps(optax.sgd(0.1), 2).init(params))
    assert not counts(optax.adam(0.1).init(params))
    state = optax.MultiSteps(optax.sgd(0.1), 2).init(params)
    taken = trained()._replace(opt_state=state)
    proof: Any = None
    assert (
        update_causes._of_micro_batches(proof, Training(None, accumulate=2), taken) == NO_DIFFERENCE
    )
    assert update_causes._observed(taken, "w").of_jax == "the first step is 3 times torch's"


def test_the_counters_of_an_optimizer_state_are_listed():
    """A chain and a state inside of another have counters too; an array is no counter."""
    params = {"w": np.ones(2)}
    tx = optax.chain(optax.clip(1.0), optax.adam(lambda step: 0.1 / (step + 1)))
    found = list(update_causes._counters(tx.init(params)))
    assert found == [("ScaleByAdamState", 0), ("ScaleByScheduleState", 0)]
    masked = optax.multi_transform({"a": optax.adam(0.1)}, {"w": "a"}).init(params)
    assert ("ScaleByAdamState", 0) in list(update_causes._counters(masked))
    assert list(update_causes._counters((np.ones(3), [np.array(2)]))) == []


def test_a_first_step_that_only_torch_makes_is_observed():
    """A schedule that starts at zero leaves the weight as it is."""
    text = update_causes._observed(trained(jax_move=0.0), "w").of_jax
    assert text == "JAX's optimizer does not change the weight in step 1, torch's does"
    text = update_causes._observed(trained(jax_move=0.0), "w", held=False).of_jax
    assert text == "JAX does not change the weight in step 1, torch does, and not in its optimizer"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"held": False}, "torch's optimizer does not hold the weight, but JAX's changes it; name"),
        ({"has_gradient": True}, "torch's optimizer does not change the weight, JAX's does"),
        ({}, "torch skips the weight, which has no gradient"),
    ],
)
def test_a_weight_that_torch_does_not_change_is_observed_with_the_reason(facts, text):
    observed = update_causes._observed(trained(torch_move=0.0), "w", **facts)
    assert observed.of_jax.startswith(text)


def test_a_weight_outside_of_torchs_optimizer_is_observed_so():
    """The weight has a gradient; torch's optimizer holds another layer alone."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))

    def apply(p: Any, x: Any) -> Any:
        return (x @ p["0.weight"].T + p["0.bias"]) @ p["1.weight"].T + p["1.bias"]

    training = Training(lambda model: torch.optim.SGD(model[1].parameters(), 0.1), optax.sgd(0.1))
    first = prove(module, apply, arrays(module), (draw(5, 3),), optimizer=training).first
    assert first is not None and first.torch == "0.weight"
    assert first.cause.startswith("torch's optimizer does not hold the weight")


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
def test_one_factor_of_all_first_steps_is_a_learning_rate(moves, text, monkeypatch):
    """A weight that does not change, or that the port lacks, is ignored."""
    move = np.array([0.5, -0.25])
    names = "ab"
    before = {n: np.array([1.0, 2.0]) for n in names}
    left, right = (
        {n: before[n] + m[k] * move for n, m in zip(names, moves, strict=True) if m[k] is not None}
        for k in (0, 1)
    )
    taken = Trajectories(before, {1: left}, {1: right}, [], {}, [], None, ({}, {}))
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=torch.nn.Linear(2, 1)))
    monkeypatch.setattr(schedules, "used_rates", lambda *_: np.array([[0.1], [0.1]]))
    found = [v.text for v in update_causes._rates(proof, Training(sgd), taken)]
    assert found == ([text] if text else [])


def test_a_learning_rate_beside_a_schedule_is_that_of_the_compared_steps(monkeypatch):
    """A schedule that is a step ahead may look like another rate in a few steps."""
    taken = Trajectories(
        BEFORE, {1: {"w": BEFORE["w"] + MOVE}}, {1: {"w": BEFORE["w"] + 3 * MOVE}}, [], {}, [],
        None, ({}, {}),
    )  # fmt: skip
    proof: Any = SimpleNamespace(torch_side=SimpleNamespace(module=torch.nn.Linear(2, 1)))
    monkeypatch.setattr(schedules, "used_rates", lambda *_: np.array([[0.1], [0.09]]))
    for training in (Training(sgd, scheduler=decaying), Training(scheduled_inside)):
        (found,) = update_causes._rates(proof, training, taken)
        assert found.text == "the learning rate is 3 times torch's in the compared step"


def scheduled_inside(parameters: Any) -> Any:
    optimizer = sgd(parameters)
    optimizer.scheduler = decaying(optimizer)
    return optimizer


def test_a_decay_of_a_whole_group_is_named_beside_rates_for_each_group():
    """`schedule=` has a value for each of torch's groups; the norm's bias is zero at first."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 2)
    )

    def grouped(m: Any) -> Any:
        groups = [
            {"params": [m[0].weight], "weight_decay": 0.1},
            {"params": [m[0].bias, m[1].weight, m[1].bias]},
            {"params": [m[2].weight, m[2].bias], "lr": 1e-2},
        ]
        return torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0)

    def mlp(p: Any, x: Any) -> Any:
        h = x @ p["0.weight"].T + p["0.bias"]
        h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
        h = h * p["1.weight"] + p["1.bias"]
        return h @ p["2.weight"].T + p["2.bias"]

    def rate(start: float) -> Any:
        return lambda count: start / (1 + count)

    tx = jaxgrad.optim.param_groups(
        jaxgrad.optim.adamw,
        [{"weight_decay": 0.1}, {"weight_decay": 0.1}, {"lr": rate(1e-2)}],
        lambda name: 2 if name.startswith("2") else 0 if name == "0.weight" else 1,
        lr=rate(1e-3),
        weight_decay=0.0,
    )
    training = Training(
        grouped,
        tx,
        scheduler=lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)),
        schedule=lambda step: (rate(1e-3)(step), rate(1e-3)(step), rate(1e-2)(step)),
    )
    first = prove(module, mlp, arrays(module), (draw(4, 3),), optimizer=training, steps=3).first

    assert first is not None and first.tested
    assert first.cause == (
        "the weight decay is applied to 0.bias, 1.weight, 1.bias, which torch does not decay "
        "(rerunning torch with this change reproduces JAX's weights)"
    )


@pytest.mark.parametrize(
    ("moved", "text"),
    [
        (
            ["0.weight"],
            "0.weight has the settings of parameter group 1 (that of 0.bias), torch has it in "
            "group 0 (that of 1.weight)",
        ),
        (
            ["0.weight", "1.bias"],
            "0.weight has the settings of parameter group 1 (that of 0.bias), torch has it in "
            "group 0 (that of 1.weight) and 1.bias has the settings of parameter group 0 (that of "
            "1.weight), torch has it in group 1 (that of 0.bias)",
        ),
    ],
    ids=["one", "two"],
)
def test_weights_in_another_parameter_group_are_named(moved: Any, text: str):
    """The groups differ in two settings, so that no other decay or rate explains the step."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Linear(8, 2))
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.5)

    def grouped(m: Any) -> Any:
        groups = [
            {"params": [m[0].weight, m[1].weight], "weight_decay": 0.1},
            {"params": [m[0].bias, m[1].bias], "lr": 5e-3},
        ]
        return torch.optim.AdamW(groups, lr=1e-3, weight_decay=0.0)

    tx = jaxgrad.optim.param_groups(
        jaxgrad.optim.adamw,
        [{"weight_decay": 0.1}, {"lr": 5e-3}],
        lambda name: int(name.endswith("bias") != (name in moved)),
        lr=1e-3,
        weight_decay=0.0,
    )

    def mlp(p: Any, x: Any) -> Any:
        h = x @ p["0.weight"].T + p["0.bias"]
        return h @ p["1.weight"].T + p["1.bias"]

    training = Training(grouped, tx)
    first = prove(module, mlp, arrays(module), (draw(4, 3),), optimizer=training, steps=3).first

    assert first is not None and first.tested
    assert first.cause == (f"{text} (rerunning torch with this change reproduces JAX's weights)")
