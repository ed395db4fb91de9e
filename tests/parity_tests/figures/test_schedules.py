"""The figure of the schedulers shows torch's learning rates."""

import pytest
import torch

from parity_tests.figures import schedules
from tests.parity_tests.figures.reading import words


def test_the_rates_are_those_of_a_plain_run(monkeypatch):
    """torch's StepLR, written out in the test, has the rates of the figure; the contrast not."""
    monkeypatch.setattr(schedules, "NAMES", ("step_lr",))
    record = schedules.record()
    rates = record["step_lr"]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rates.torch[0])
    first_drop = next(i for i, rate in enumerate(rates.torch) if rate != rates.torch[0])
    gamma = rates.torch[first_drop] / rates.torch[0]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, first_drop, gamma)
    fresh = []
    for _ in rates.torch:
        fresh.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()

    assert rates.torch == pytest.approx(fresh, rel=1e-12)
    assert rates.jax == pytest.approx(fresh, rel=1e-12)
    assert rates.contrast != pytest.approx(fresh, rel=1e-3)
    assert "step_lr" in words(schedules.draw(record))
