"""Schedules are compared over the whole training run, without training."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.optim import lr_scheduler

from jaxgrad.parity import Training
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.surfaces.schedules import shift
from tests.jaxgrad.parity.prove._helpers import proved, updated


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def halved(boundary: int) -> Any:
    return optax.piecewise_constant_schedule(0.1, {boundary: 0.5})


def milestone(boundary: int) -> Any:
    return lambda optimizer: lr_scheduler.MultiStepLR(optimizer, [boundary], 0.5)


def factor(step: int) -> float:
    return 1.0 if step < 10 else 0.5


def by_lambda(optimizer: Any) -> Any:
    return lr_scheduler.LambdaLR(optimizer, factor)


def hidden(parameters: Any) -> Any:
    """Return an optimizer whose scheduler `prove` is not told about."""
    optimizer = sgd(parameters)
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 5)
    optimizer.register_step_post_hook(lambda *_: scheduler.step())
    return optimizer


def frozen(step: Any) -> Any:
    """Return the rate of this scheduler in the first three steps, and then the third one."""
    return optax.cosine_decay_schedule(0.1, 5)(jnp.minimum(step, 2))


CASES = {
    "equal": (Training(sgd, optax.sgd(halved(20)), scheduler=milestone(20)), "22 steps agree"),
    "a step too early": (
        Training(sgd, optax.sgd(halved(20)), scheduler=milestone(21)),
        "first in step 21 of 23",
    ),
    "in JAX only": ((sgd, optax.sgd(halved(20))), "first in step 21 of 30"),
    "beyond its length": (
        Training(sgd, optax.sgd(optax.cosine_decay_schedule(0.1, 9)),
                 scheduler=lambda opt: lr_scheduler.CosineAnnealingLR(opt, 9)),
        "9 steps agree",
    ),
    "of unknown length": (Training(sgd, optax.sgd(0.1), scheduler=by_lambda), "pass total="),
    "of a given length": (
        Training(sgd, optax.sgd(0.1), scheduler=by_lambda, total=20),
        "first in step 11 of 20",
    ),
    "hidden": ((hidden, optax.sgd(optax.cosine_decay_schedule(0.1, 5))), "5 steps agree"),
    "hidden and frozen": ((hidden, optax.sgd(frozen)), "first in step 4 of 5"),
    "another update": (
        (sgd, optax.sgd(lambda step: 0.1 + 0 * step, momentum=1e-5)),
        "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("optimizer", "text"), CASES.values(), ids=CASES)
def test_the_first_step_that_differs_is_named(evidence: Evidence, optimizer: Any, text: str):
    """Equal schedules pass; others fail in the first step in which the learning rates differ."""
    surface = updated(evidence, optimizer, 2)
    if "agree" in text or "total" in text:
        assert surface.verdict == "pass", surface
        assert text in surface.text
    else:
        assert surface.verdict == "fail" and text in surface.findings[0].text, surface


def test_both_learning_rates_are_shown(evidence: Evidence):
    """The finding has the learning rates of both frameworks and names the shift."""
    training = Training(sgd, optax.sgd(halved(20)), scheduler=milestone(21))
    (first,) = updated(evidence, training).findings
    assert (first.torch_value, first.jax_value) == pytest.approx((0.1, 0.05))
    assert "one step ahead of torch's (replaying torch" in first.cause


CHANGED = {
    "T_max": (
        optax.cosine_decay_schedule(0.1, 20),
        lambda opt: lr_scheduler.CosineAnnealingLR(opt, 10),
        "T_max of the schedule is 20, torch uses 10",
    ),
    "eta_min": (
        optax.cosine_decay_schedule(0.1, 10),
        lambda opt: lr_scheduler.CosineAnnealingLR(opt, 10, eta_min=0.01),
        "eta_min of the schedule is 0, torch uses 0.01",
    ),
    "gamma": (
        optax.exponential_decay(0.1, 2, 0.5, staircase=True),
        lambda opt: lr_scheduler.StepLR(opt, 2, 0.1),
        "gamma of the schedule is 0.5, torch uses 0.1",
    ),
    "warmup": (
        optax.linear_schedule(0.01, 0.1, 7),
        lambda opt: lr_scheduler.LinearLR(opt, 0.1, 1.0, 5),
        "total_iters of the schedule is 7, torch uses 5",
    ),
}


@pytest.mark.parametrize(("schedule", "scheduler", "cause"), CHANGED.values(), ids=CHANGED)
def test_a_setting_of_the_schedule_is_named(
    evidence: Evidence, schedule: Any, scheduler: Any, cause: str
):
    """A number that the port's schedule contains is tried in each setting of torch's scheduler."""
    training = Training(sgd, optax.sgd(schedule), scheduler=scheduler)
    (first,) = updated(evidence, training).findings
    assert first.cause == f"{cause} (replaying torch with this change gives JAX's weights)"


@pytest.mark.parametrize("boundary", [50, 51])
def test_a_schedule_is_compared_with_the_scheduler(evidence: Evidence, boundary: int):
    """The user's schedule is evaluated at every step of torch's scheduler."""
    training = Training(
        sgd, optax.sgd(0.1), scheduler=milestone(50), schedule=halved(boundary), total=60
    )
    surface = updated(evidence, training, 1)
    assert surface.verdict == "fail"
    if boundary == 50:  # the transformation has no schedule, which replaying shows
        assert "first in step 51 of 60" in surface.findings[0].text
        assert "the schedules agree in all 60 steps" in surface.text
    else:
        assert "the schedules differ first in step 51 of 60, by 0.05" in surface.findings[0].text


def test_a_schedule_that_raises_is_an_error(arguments: dict[str, Any]):
    """The error names the field and the step."""
    training = Training(sgd, optax.sgd(0.1), scheduler=milestone(5), schedule=lambda step: [][step])
    report = proved(arguments, optimizer=training)
    assert "Training(schedule=) called with the step 0 raised IndexError" in report.text


def test_shifted_and_scaled_schedules_are_described():
    """A schedule that is another one shifted by a step or multiplied by a number is named."""
    rates = np.array([0.1, 0.4, 0.3, 0.7, 0.2])
    assert "one step ahead" in shift(rates, np.array([0.4, 0.3, 0.7, 0.2, 0.9]))
    assert "one step behind" in shift(rates, np.array([0.9, 0.1, 0.4, 0.3, 0.7]))
    assert "2 times" in shift(rates, 2 * rates)
    assert shift(rates, rates[::-1]) == ""
    assert shift(np.full(3, 0.1), np.array([0.1, 0.1, 0.2])) == ""
