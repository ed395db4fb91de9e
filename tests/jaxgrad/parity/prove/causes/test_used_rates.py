"""The learning rates that the port's transformation uses are measured from its updates."""

from typing import Any

import numpy as np
import optax
import pytest
import torch
from torch.optim import lr_scheduler

from jaxgrad.parity import Training
from jaxgrad.parity.prove.causes import schedules
from jaxgrad.parity.prove.evidence import Evidence


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def adamw(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, 0.1, weight_decay=0.2)


def rate(step: Any) -> Any:
    return 0.3 / (1.0 + step)


def decaying(optimizer: Any) -> Any:
    return lr_scheduler.ExponentialLR(optimizer, 0.5)


def measured(evidence: Evidence, training: Training, steps: int = 4) -> np.ndarray | None:
    return schedules.port_rates(evidence, training, steps)


@pytest.mark.parametrize(
    ("factory", "tx"),
    [(sgd, optax.sgd(rate)), (adamw, optax.adamw(rate, weight_decay=0.2))],
    ids=["sgd", "adamw"],
)
@pytest.mark.parametrize("scheduler", [None, decaying], ids=["constant", "scheduled"])
def test_the_rates_of_a_schedule_inside_the_transformation_are_measured(
    evidence: Evidence, factory: Any, tx: Any, scheduler: Any
):
    """They do not depend on torch's scheduler, and the weights that differ do not disturb them."""
    rates = measured(evidence, Training(factory, tx, scheduler=scheduler))
    assert rates is not None and rates.shape == (4, 1)
    np.testing.assert_allclose(rates[:, 0], [0.3, 0.15, 0.1, 0.075], rtol=1e-7)


def test_a_rate_of_zero_is_measured(evidence: Evidence):
    """A warmup may begin at zero."""
    tx = optax.sgd(optax.linear_schedule(0.0, 0.4, 4))
    rates = measured(evidence, Training(sgd, tx))
    assert rates is not None
    np.testing.assert_allclose(rates[:, 0], [0.0, 0.1, 0.2, 0.3], atol=1e-9)


@pytest.mark.parametrize(
    "tx",
    [
        optax.sgd(0.1, momentum=0.5),
        optax.adam(0.1),
        optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.1)),
        optax.chain(optax.clip_by_global_norm(1e-3), optax.sgd(0.1)),
        optax.chain(optax.clip(1e-3), optax.sgd(0.1)),
    ],
    ids=["momentum", "adam", "decay", "norm", "value"],
)
def test_other_differences_have_no_rate(evidence: Evidence, tx: Any):
    """A factor that depends on the gradients or the weights is not a learning rate."""
    assert measured(evidence, Training(sgd, tx)) is None


def test_one_step_is_not_enough_for_a_momentum(evidence: Evidence):
    """Further steps are made, in which a momentum shows."""
    assert measured(evidence, Training(sgd, optax.sgd(0.1, momentum=0.5)), 1) is None


def test_a_step_with_a_change_after_it_is_not_measured(evidence: Evidence):
    """`after=` changes weights that the optimizer may not."""
    training = Training(sgd, optax.sgd(0.2), after=(lambda module: None, lambda params: params))
    assert measured(evidence, training) is None
