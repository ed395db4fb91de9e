"""OneCycleLR follows torch's, with its momentum, and ends where torch's does."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    SchedulerTests,
    Spec,
    assert_rejected,
    assert_same,
)


class TestOneCycleLR(SchedulerTests):
    name = "OneCycleLR"


ODD: dict[str, Spec] = {
    "one cycle in one step": ("OneCycleLR", dict(max_lr=1.0, total_steps=1)),
    "no rising phase": ("OneCycleLR", dict(max_lr=1.0, total_steps=20, pct_start=0.0)),
    "no falling phase": ("OneCycleLR", dict(max_lr=1.0, total_steps=20, pct_start=1.0)),
    "an empty first phase": ("OneCycleLR", dict(max_lr=1.0, total_steps=10, pct_start=0.1)),
    "by epochs": ("OneCycleLR", dict(max_lr=1.0, epochs=3, steps_per_epoch=7)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "total_steps": (("OneCycleLR", dict(max_lr=1.0, total_steps=-3)), "but got -3"),
    "epochs": (("OneCycleLR", dict(max_lr=1.0, epochs=0, steps_per_epoch=2)), "but got 0"),
    "steps_per_epoch": (("OneCycleLR", dict(max_lr=1.0, epochs=2, steps_per_epoch=-1)), "got -1"),
    "no steps": (("OneCycleLR", dict(max_lr=1.0, epochs=2)), "steps_per_epoch=None"),
    "no epochs": (("OneCycleLR", dict(max_lr=1.0, steps_per_epoch=2)), "epochs=None"),
    "pct_start": (("OneCycleLR", dict(max_lr=1.0, total_steps=9, pct_start=2.0)), "but got 2.0"),
    "strategy": (
        ("OneCycleLR", dict(max_lr=1.0, total_steps=9, anneal_strategy="x")),
        "instead got x",
    ),
    "max_lr": (
        ("OneCycleLR", dict(max_lr=[1.0] * 3, total_steps=9)),
        "has 3 values, param_groups has 2",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    assert_rejected(*INVALID[name])


def test_after_the_last_step():
    """A step after the cycle raises torch's error; under jit the learning rate is NaN."""
    lr = jax_lr.one_cycle_lr(0.1, max_lr=1.0, total_steps=10, cycle_momentum=False)
    words = "Tried to step 11 times. The specified number of total steps is 10"
    for step in (11, np.array([3, 50])):
        with pytest.raises(ValueError, match=re.escape(words)):
            lr(step)
    cycled = jax_lr.one_cycle_lr(0.1, max_lr=1.0, total_steps=10)
    for at in (jax.jit(cycled), jax.jit(cycled.momentum)):  # compiled functions cannot raise
        np.testing.assert_array_equal(np.isnan(at(np.array([0, 10, 11]))), [False, False, True])
    with pytest.raises(ValueError, match=re.escape(words)):
        jax_lr.sequential_lr(0.1, [jax_lr.constant_lr(0.1), lr], [5])(16)
    with pytest.raises(ZeroDivisionError, match="pct_start \\* total_steps - 1 = 0.1 \\* 10 - 1"):
        jax_lr.one_cycle_lr(0.1, max_lr=1.0, total_steps=10, pct_start=0.1)
    with pytest.raises(ValueError, match="because cycle_momentum=False"):
        lr.momentum(3)
