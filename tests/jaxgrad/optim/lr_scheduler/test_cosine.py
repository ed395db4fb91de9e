"""Cosine schedules and SWALR follow torch's."""

from __future__ import annotations

from typing import Any

import pytest

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    SchedulerTests,
    Spec,
    assert_rejected,
    assert_same,
)


class TestCosineAnnealingLR(SchedulerTests):
    name = "CosineAnnealingLR"


class TestCosineAnnealingWarmRestarts(SchedulerTests):
    name = "CosineAnnealingWarmRestarts"


class TestSWALR(SchedulerTests):
    name = "SWALR"


ODD: dict[str, Spec] = {
    "half a cosine in one step": ("CosineAnnealingLR", dict(T_max=1, eta_min=0.05)),
    "a cosine that misses its minimum": ("CosineAnnealingLR", dict(T_max=10.5)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "T_0": (("CosineAnnealingWarmRestarts", dict(T_0=0)), "but got 0"),
    "T_0 that is not an int": (("CosineAnnealingWarmRestarts", dict(T_0=1.5)), "but got 1.5"),
    "T_mult": (("CosineAnnealingWarmRestarts", dict(T_0=1, T_mult=0)), "but got 0"),
    "eta_min": (("CosineAnnealingWarmRestarts", dict(T_0=1, eta_min="x")), "but got x of type"),
    "anneal_strategy": (("SWALR", dict(swa_lr=0.1, anneal_strategy="x")), "instead got x"),
    "anneal_epochs": (("SWALR", dict(swa_lr=0.1, anneal_epochs=-1)), "got -1"),
    "swa_lr": (("SWALR", dict(swa_lr=[1.0] * 3)), "has 3 values, param_groups has 2"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    assert_rejected(*INVALID[name])


def test_the_first_learning_rate_is_not_rounded():
    """At step 0 a cosine returns the initial rate exactly, without subtracting `eta_min` first."""
    lengths: list[Any] = [10, 10.5]
    for length in lengths:
        assert jax_lr.cosine_annealing_lr(1e-3, T_max=length, eta_min=0.05)(0) == 1e-3
