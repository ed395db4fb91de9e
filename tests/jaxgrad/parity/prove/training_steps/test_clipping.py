"""Updates are compared by gradients that torch clips, even if the compared steps have none."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import optax
import pytest
import torch

import jaxgrad.optim
from jaxgrad.parity import Training
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.training_steps import clipping
from jaxgrad.parity.prove.training_steps.clipping import Bounds
from tests.jaxgrad.parity.prove._helpers import updated


HIGH = 1000.0  # a norm above those of all gradients of the compared steps
MISSING = "the gradients are not clipped"
OF_UPDATE = (
    "the update is clipped instead of the gradient (clip before the optimizer in optax.chain)"
)


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, 0.1)


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.1)


def with_hook(parameters: Any) -> Any:
    """Return an optimizer that clips the gradients itself."""
    parameters = list(parameters)
    optimizer = adam(parameters)
    optimizer.register_step_pre_hook(
        lambda *_: torch.nn.utils.clip_grad_norm_(parameters, HIGH) and None
    )
    return optimizer


def by_value(parameters: Any) -> None:
    torch.nn.utils.clip_grad_value_(parameters, HIGH)


def by_hand(parameters: Any) -> None:
    """Clip by the largest element, with no function of torch."""
    largest = max(float(p.grad.abs().max()) for p in parameters if p.grad is not None)
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(min(1.0, HIGH / largest))


CLIP = optax.clip_by_global_norm(HIGH)
RIGHT = {
    "optax": (Training(adam, optax.chain(CLIP, optax.adam(0.1)), clip=HIGH), "clip=1000"),
    "jaxgrad": (
        Training(sgd, optax.chain(jaxgrad.optim.clip_grad_norm(HIGH), optax.sgd(0.1)), clip=HIGH),
        "clip=1000",
    ),
    "value": (
        Training(adam, optax.chain(optax.clip(HIGH), optax.adam(0.1)), clip=by_value),
        "clip=",
    ),
    "hook": (
        Training(with_hook, optax.chain(CLIP, optax.adam(0.1))),
        "the bound of torch's clipping",
    ),
    "accumulation": (
        Training(
            adam, optax.MultiSteps(optax.chain(CLIP, optax.adam(0.1)), 2), clip=HIGH, accumulate=2
        ),
        "clip=1000",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("training", "bound"), RIGHT.values(), ids=RIGHT)
def test_a_port_that_clips_as_torch_does_passes(evidence: Evidence, training: Any, bound: str):
    """The report says that gradients on both sides of the bound were compared."""
    surface = updated(evidence, training, 1)
    assert surface.verdict == "pass", surface
    assert f"given gradients below and above {bound}, 8 steps agree" in surface.text


WRONG = {
    "missing": (Training(adam, optax.adam(0.1), clip=HIGH), MISSING),
    "after Adam": (Training(adam, optax.chain(optax.adam(0.1), CLIP), clip=HIGH), OF_UPDATE),
    "between Adam and its rate": (
        Training(
            adam,
            optax.chain(optax.scale_by_adam(), CLIP, optax.scale_by_learning_rate(0.1)),
            clip=HIGH,
        ),
        OF_UPDATE,
    ),
    "after a scheduled Adam": (
        Training(
            adam,
            optax.chain(optax.adam(lambda n: 0.1 / (1 + n)), CLIP),
            scheduler=lambda opt: torch.optim.lr_scheduler.LambdaLR(opt, lambda n: 1 / (1 + n)),
            clip=HIGH,
        ),
        OF_UPDATE,
    ),
    "of SGD": (Training(sgd, optax.sgd(0.1), clip=HIGH), MISSING),
    "another norm": (
        Training(adam, optax.chain(optax.clip_by_global_norm(2000.0), optax.adam(0.1)), clip=HIGH),
        "the gradients are clipped to the norm 2000, torch's is 1000",
    ),
    "by value": (Training(adam, optax.adam(0.1), clip=by_value), MISSING),
    "by hand": (Training(adam, optax.adam(0.1), clip=by_hand), MISSING),
    "by a hook": (Training(with_hook, optax.adam(0.1)), MISSING),
    "value for norm": (
        Training(adam, optax.chain(optax.clip(HIGH), optax.adam(0.1)), clip=HIGH),
        "the gradients are clipped by value, torch clips them by norm",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("training", "cause"), WRONG.values(), ids=WRONG)
def test_clipping_that_differs_fails_although_the_compared_steps_are_equal(
    evidence: Evidence, training: Any, cause: str
):
    """Larger gradients show it, and the cause is tested by replaying torch."""
    (finding,) = updated(evidence, training, 2).findings
    assert finding.text.startswith("given a gradient of norm ")
    assert ", the update in step 2 is off by " in finding.text
    assert finding.tested and finding.cause.startswith(f"{cause} (replaying torch with"), finding


def test_a_schedule_that_differs_after_the_compared_steps_is_no_wrong_clipping(
    evidence: Evidence,
):
    """Steps with the gradients as they are tell it from clipping, and name the learning rate."""

    def halved(optimizer: Any) -> Any:
        return torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)

    def once(count: Any) -> Any:
        return jnp.where(count < 3, 0.1, 0.05)  # StepLR halves it again in step 7

    training = Training(sgd, optax.chain(CLIP, optax.sgd(once)), scheduler=halved, clip=HIGH)
    (finding,) = updated(evidence, training, 1).findings
    assert finding.text.startswith("JAX's learning rate differs from torch's first in step 7 of 8")
    assert (finding.torch_value, finding.jax_value) == pytest.approx((0.025, 0.05))
    assert "clip" not in finding.cause


def test_a_function_that_clips_nothing_is_reported(evidence: Evidence):
    """The user's function did not act, so that clipping is not compared."""
    surface = updated(evidence, Training(sgd, optax.sgd(0.1), clip=lambda parameters: None), 1)
    assert surface.verdict == "pass"
    assert "clip= does not change the gradients of the first step, whose norm is " in surface.text
    assert "so that clipping is not compared" in surface.text


def test_a_loop_without_clipping_is_not_judged(evidence: Evidence):
    """Nothing is added to the report."""
    assert clipping.surface(evidence, Training(sgd, optax.sgd(0.1))) is None
    dump: Any = SimpleNamespace(rerunnable=False)
    assert clipping.surface(dump, Training(sgd, optax.sgd(0.1), clip=1.0)) is None


@pytest.mark.parametrize(
    ("bounds", "norm", "small", "large"),
    [
        (Bounds(1.0, 4.0), 1.0, 0.5, 32.0),
        (Bounds(1.0, 4.0), 0.1, 0.5, 100.0),
        (Bounds(None, 4.0), 1.0, 0.5, 32.0),
        (Bounds(1.0, 4.0), 0.0, 0.5, 32.0),
    ],
)
def test_the_gradients_are_clearly_below_and_above_the_bound(bounds, norm, small, large):
    """A large gradient has a norm of 10 at least, for which torch's 1e-6 is negligible."""
    factors = clipping.factors_around(bounds, norm)
    assert factors[:2] == [small, large] and len(factors) == 8
    assert {abs(x) for x in factors[1::2]} == {large / 2, large, 2 * large}
