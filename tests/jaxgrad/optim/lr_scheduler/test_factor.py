"""Schedules defined by a function of the epoch or by milestones follow torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    FUNCTIONS,
    SchedulerTests,
    Spec,
    assert_rejected,
    assert_same,
)


class TestLambdaLR(SchedulerTests):
    name = "LambdaLR"


class TestMultiplicativeLR(SchedulerTests):
    name = "MultiplicativeLR"
    loops = True


class TestStepLR(SchedulerTests):
    name = "StepLR"


class TestMultiStepLR(SchedulerTests):
    name = "MultiStepLR"


ODD: dict[str, Spec] = {
    "a milestone at 0": ("MultiStepLR", dict(milestones=[0, 5, 5, 3])),
    "milestones between epochs": ("MultiStepLR", dict(milestones=[2.5, 4.0])),
    "a gamma of 0": ("StepLR", dict(step_size=3, gamma=0.0)),
    "steps of two and a half": ("StepLR", dict(step_size=2.5)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "lambdas": (
        ("LambdaLR", dict(lr_lambda=[FUNCTIONS[0]] * 3)),
        "Expected 2 lr_lambdas, but got 3",
    ),
    "not a function": (
        ("MultiplicativeLR", dict(lr_lambda=3)),
        "should be a function, but got int",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    assert_rejected(*INVALID[name])


def test_steps_at_exact_multiples():
    """StepLR decays at exact multiples of `step_size`; optax's staircase may decay a step late."""
    late = 0
    for size in (1, 3, 7, 41, 47, 55, 82, 83, 94, 110, 249, 400):
        steps = np.array([size - 1, size, 3 * size - 1, 3 * size])
        rates = jax_lr.step_lr(1.0, step_size=size, gamma=0.5)(steps)
        np.testing.assert_array_equal(rates, [1.0, 0.5, 0.25, 0.125], err_msg=f"size {size}")
        with jax.enable_x64(False):
            optax_s = optax.exponential_decay(1.0, size, 0.5, staircase=True)
            late += bool(jnp.any(optax_s(size * jnp.arange(1, 9)) != 0.5 ** jnp.arange(1, 9)))
    assert late > 0, "optax's staircase is correct now: update step_lr and optax_deltas"


UNTRACEABLE: dict[str, Callable[[Any], Any]] = {
    "min": lambda epoch: min(1.0, epoch / 3),
    "if": lambda epoch: 0.1 if epoch < 3 else 1.0,
    "index": lambda epoch: [1.0, 0.5][epoch],
    "float": float,
    "numpy": np.cos,
}


@pytest.mark.parametrize("name", UNTRACEABLE)
def test_functions_must_be_traceable(name):
    """The error for an untraceable function names the argument and the jnp replacements."""
    function = UNTRACEABLE[name]
    for make in (
        lambda: jax_lr.lambda_lr(0.1, function),
        lambda: jax_lr.multiplicative_lr(0.1, function),
    ):
        with pytest.raises(TypeError, match=r"lr_lambda must be traceable.* jnp\.where for `if`"):
            make()(3)
    with pytest.raises(TypeError, match=r"scale_fn must be traceable"):
        jax_lr.cyclic_lr(0.1, 0.1, 1.0, scale_fn=function)(3)
