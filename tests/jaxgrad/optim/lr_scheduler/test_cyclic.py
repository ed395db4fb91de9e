"""CyclicLR follows torch's, with its momentum."""

from __future__ import annotations

import pytest

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    SchedulerTests,
    Spec,
    assert_rejected,
    assert_same,
)


class TestCyclicLR(SchedulerTests):
    name = "CyclicLR"


ODD: dict[str, Spec] = {
    "cycles that only rise": (
        "CyclicLR",
        dict(base_lr=0.1, max_lr=1.0, step_size_up=7, step_size_down=0),
    ),
    "cycles that only fall": (
        "CyclicLR",
        dict(base_lr=0.1, max_lr=1.0, step_size_up=0, step_size_down=7),
    ),
    "cycles between steps": ("CyclicLR", dict(base_lr=0.1, max_lr=1.0, step_size_up=2.25)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "mode": (("CyclicLR", dict(base_lr=0.1, max_lr=1.0, mode="x")), "got mode='x'"),
    "base_lr": (
        ("CyclicLR", dict(base_lr=[1.0] * 3, max_lr=1.0)),
        "has 3 values, param_groups has 2",
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    assert_rejected(*INVALID[name])


def test_invalid_calls():
    """A cycle without rising steps is rejected, and so is the momentum of an uncycled schedule."""
    with pytest.raises(ZeroDivisionError, match="got step_size_up=0, step_size_down=3"):
        jax_lr.cyclic_lr(0.1, 0.1, 1.0, step_size_up=0, step_size_down=3)
    fixed = jax_lr.cyclic_lr(0.1, 0.1, 1.0, cycle_momentum=False)
    with pytest.raises(ValueError, match="because cycle_momentum=False"):
        fixed.momentum(3)
