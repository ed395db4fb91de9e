"""The decaying schedules follow torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    SchedulerTests,
    Spec,
    assert_rejected,
    assert_same,
    schedule,
    torch_scheduler,
)


class TestConstantLR(SchedulerTests):
    name = "ConstantLR"


class TestLinearLR(SchedulerTests):
    name = "LinearLR"


class TestExponentialLR(SchedulerTests):
    name = "ExponentialLR"


class TestPolynomialLR(SchedulerTests):
    name = "PolynomialLR"


ODD: dict[str, Spec] = {
    "no iterations, constant": ("ConstantLR", dict(total_iters=0)),
    "no iterations, linear": ("LinearLR", dict(total_iters=0)),
    "no iterations, polynomial": ("PolynomialLR", dict(total_iters=0)),
    "a factor of 0": ("ConstantLR", dict(factor=0.0, total_iters=7)),
    "a negative gamma": ("ExponentialLR", dict(gamma=-0.9)),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_settings(name):
    """Edge-case settings give torch's learning rates, or its exception."""
    assert_same(ODD[name], 0.3)


INVALID: dict[str, tuple[Spec, str]] = {
    "factor": (("ConstantLR", dict(factor=1.5)), "Got factor=1.5"),
    "negative factor": (("ConstantLR", dict(factor=-1)), "Got factor=-1"),
    "start_factor": (("LinearLR", dict(start_factor=0.0)), "Got start_factor=0.0"),
    "end_factor": (("LinearLR", dict(end_factor=2.0)), "Got end_factor=2.0"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_settings(name):
    """Invalid settings raise torch's exception type and message, including the value passed."""
    assert_rejected(*INVALID[name])


def test_a_linear_schedule_to_zero():
    """Where a linear schedule reaches zero, torch's rounding error is reproduced."""
    for start, length in ((1.0, 7), (1 / 3, 10), (0.7, 7)):
        spec: Spec = (
            "LinearLR",
            dict(start_factor=start, end_factor=0.0, total_iters=length),
        )
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
        scheduler = torch_scheduler(spec, optimizer)
        for _ in range(length):
            optimizer.step()
            scheduler.step()
        last = optimizer.param_groups[0]["lr"]
        np.testing.assert_allclose(schedule(spec, 0.3)(length), last, rtol=1e-12)


def test_a_factor_of_zero_cannot_be_undone():
    """ConstantLR with `factor=0` raises, like torch, when it would divide by the factor."""
    with pytest.raises(ZeroDivisionError, match="divided by factor=0.0"):
        jax_lr.constant_lr(0.1, factor=0.0)(5)
