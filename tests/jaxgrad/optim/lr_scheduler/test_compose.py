"""Sequential and chained schedules follow torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    FIXED,
    Spec,
    TransformationTests,
    assert_rejected,
    assert_same,
    compose,
    initial_lr,
)


ODD: dict[str, Spec] = {
    "two cycles": (
        "SequentialLR",
        dict(
            schedulers=[
                ("OneCycleLR", dict(max_lr=1.0, total_steps=30)),
                ("OneCycleLR", dict(max_lr=0.5, total_steps=300)),
            ],
            milestones=[20],
        ),
    ),
    "two schedulers at one milestone": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("CosineAnnealingLR", dict(T_max=30)),
            ],
            milestones=[9, 9],
        ),
    ),
    "milestones out of order": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("CosineAnnealingLR", dict(T_max=30)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a skipped milestone and a scheduler at its end": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("PolynomialLR", dict(total_iters=5.5)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a skipped milestone and a scheduler at zero": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("StepLR", dict(step_size=3)),
                ("PolynomialLR", dict(total_iters=5)),
            ],
            milestones=[20, 9],
        ),
    ),
    "a chain as the second": (
        "SequentialLR",
        dict(
            schedulers=[
                ("ConstantLR", dict(total_iters=30)),
                ("ChainedScheduler", dict(schedulers=[("StepLR", dict(step_size=3))])),
            ],
            milestones=[9],
        ),
    ),
    "one sequence in another": (
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "SequentialLR",
                    dict(
                        schedulers=[
                            ("ExponentialLR", dict(gamma=0.9)),
                            ("SWALR", dict(swa_lr=0.05)),
                        ],
                        milestones=[9],
                    ),
                ),
                ("MultiplicativeLR", dict(lr_lambda=lambda epoch: 0.95)),
            ],
            milestones=[31],
        ),
    ),
    "a milestone that the inner sequence skips": (  # its second part starts before epoch 0
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "SequentialLR",
                    dict(
                        schedulers=[
                            ("ConstantLR", dict(total_iters=30)),
                            ("StepLR", dict(step_size=3)),
                        ],
                        milestones=[2.5],
                    ),
                ),
                ("ExponentialLR", dict(gamma=0.9)),
            ],
            milestones=[40],
        ),
    ),
    "a chain as the first": (
        "SequentialLR",
        dict(
            schedulers=[
                (
                    "ChainedScheduler",
                    dict(
                        schedulers=[
                            ("StepLR", dict(step_size=3, gamma=0.9)),
                            ("MultiStepLR", dict(milestones=[0, 5], gamma=0.8)),
                            ("ConstantLR", dict(factor=0.7, total_iters=4)),
                            ("LinearLR", dict(total_iters=6)),
                            ("PolynomialLR", dict(total_iters=40)),
                            ("ExponentialLR", dict(gamma=0.99)),
                            ("MultiplicativeLR", dict(lr_lambda=lambda epoch: 0.98)),
                            ("CosineAnnealingLR", dict(T_max=1, eta_min=0.01)),
                            ("SWALR", dict(swa_lr=0.2, anneal_epochs=50)),
                        ]
                    ),
                ),
                ("CosineAnnealingWarmRestarts", dict(T_0=7, T_mult=2)),
            ],
            milestones=[31],
        ),
    ),
    "a cosine at its minimum when a warmup ends": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("CosineAnnealingLR", dict(T_max=7, eta_min=0.05)),
                ("LinearLR", dict(total_iters=7)),
            ]
        ),
    ),
    "averaging when a warmup ends": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("SWALR", dict(swa_lr=0.05, anneal_epochs=3)),
                ("LinearLR", dict(total_iters=7)),
            ]
        ),
    ),
    "warmup times cosine": (
        "ChainedScheduler",
        dict(
            schedulers=[
                ("LinearLR", dict(total_iters=20)),
                ("CosineAnnealingLR", dict(T_max=70, eta_min=0.01)),
            ]
        ),
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "no schedulers": (("SequentialLR", dict(schedulers=[], milestones=[])), "but got no scheduler"),
    "nothing to chain": (("ChainedScheduler", dict(schedulers=[])), "but got no scheduler"),
    "milestones": (
        ("SequentialLR", dict(schedulers=[FIXED["StepLR"]], milestones=[3])),
        "number of schedulers 1 and the number of milestones to be equal to 1",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    # torch raises IndexError for an empty chain
    kind = ValueError if name == "nothing to chain" else None
    assert_rejected(*INVALID[name], kind)


class TestTwoCycles(TransformationTests):
    spec = ODD["two cycles"]


class TestOneSequenceInAnother(TransformationTests):
    spec = ODD["one sequence in another"]


class TestWarmupTimesCosine(TransformationTests):
    spec = ODD["warmup times cosine"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("block", range(4))
def test_schedulers_of_schedulers(block):
    """Random trees of sequential and chained schedulers follow torch's, odd ones included."""
    for seed in range(8 * block, 8 * block + 8):
        rng = np.random.default_rng(seed)
        lr, groups = initial_lr(rng)
        assert_same(compose(rng, groups), lr)


def test_schedules_that_cannot_be_combined():
    """The error for a plateau, a function, a different `lr` or a later start gives its index."""
    one, plateau = jax_lr.step_lr(0.1, 3), jax_lr.reduce_lr_on_plateau(0.1)
    makes: list[Callable[[Any], Any]] = [
        jax_lr.chained_scheduler,
        lambda parts: jax_lr.sequential_lr(0.1, parts, [5]),
    ]
    for make in makes:
        with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`.* index 1"):
            make([one, plateau])
        with pytest.raises(TypeError, match="index 1 should be a schedule .*, but got function"):
            make([one, lambda step: 0.1])
        with pytest.raises(ValueError, match=r"index 1 with lr=0.2, .* different from lr=0.1"):
            make([one, jax_lr.step_lr(0.2, 3)])
        with pytest.raises(ValueError, match="the one at index 1 has last_epoch=3"):
            make([one, jax_lr.step_lr(0.1, 3, last_epoch=3)])


def test_a_traced_learning_rate():
    """A schedule may be built inside jit and differentiated with respect to `lr`."""

    def lr_at(lr, step):
        warmup, cosine = (
            jax_lr.linear_lr(lr, total_iters=4),
            jax_lr.cosine_annealing_lr(lr, T_max=9),
        )
        return jax_lr.sequential_lr(lr, [warmup, cosine], [5])(step)

    for step in (0, 3, 7):
        expected = lr_at(0.3, step)
        np.testing.assert_allclose(jax.jit(lr_at)(0.3, step), expected, rtol=1e-15)
        np.testing.assert_allclose(jax.grad(lr_at)(0.3, step), expected / 0.3, rtol=1e-15)


def test_a_schedule_before_its_milestone_has_no_gradient():
    """A later schedule that overflows before its milestone does not make the gradient NaN."""

    def first(lr):
        parts = [
            jax_lr.constant_lr(lr, factor=0.5),
            jax_lr.exponential_lr(lr, gamma=1e-3),
        ]
        return jax_lr.sequential_lr(lr, parts, [200])(0)

    assert jax.grad(first)(0.3) == 0.5


def test_the_learning_rate_may_come_first():
    """`chained_scheduler` accepts the learning rate before or after the schedules."""
    parts = [jax_lr.constant_lr(0.1), jax_lr.step_lr(0.1, 3)]
    chain: Any = jax_lr.chained_scheduler
    first, last = (chain(*args)(np.arange(9)) for args in ((0.1, parts), (parts, 0.1)))
    np.testing.assert_array_equal(first, last)


def test_a_chain_cannot_start_at_a_milestone():
    """torch's SequentialLR accepts a chain only as its first schedule, and the error says so."""
    parts = [
        jax_lr.constant_lr(0.1),
        jax_lr.chained_scheduler([jax_lr.constant_lr(0.1)]),
    ]
    with pytest.raises(NotImplementedError, match="ChainedScheduler at a milestone; put it first"):
        jax_lr.sequential_lr(0.1, parts, [5])(5)
