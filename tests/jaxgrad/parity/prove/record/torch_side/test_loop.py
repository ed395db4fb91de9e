"""torch's training loop runs each part of a step, and finds the length of a schedule."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import lr_scheduler, swa_utils

from jaxgrad.parity import ProofError, Training
from jaxgrad.parity.prove.record.torch_side import loop
from jaxgrad.parity.prove.record.torch_side.loop import Loop


def module() -> Any:
    """Return a layer with two weights, 1 and 2."""
    layer = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0, 2.0]]))
    return layer


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 0.5)


def constant(layer: nn.Module, *gradients: float) -> Any:
    """Return a backward pass with one constant gradient per micro-batch."""

    def backward(number: int) -> float:
        loop.add_gradients(layer, {"weight": np.full((1, 2), gradients[number])})
        return float(number)

    return backward


def test_a_step_moves_the_weights_and_returns_its_rates():
    """Gradients of an earlier step are cleared, and the copies do not change later."""
    layer = module()
    steps = Loop(Training(sgd), layer)
    before = steps.parameters()

    assert steps.step(constant(layer, 1.0)) == [0.5]
    assert steps.step(constant(layer, 1.0)) == [0.5]
    np.testing.assert_array_equal(before["weight"], [[1.0, 2.0]])
    np.testing.assert_array_equal(steps.parameters()["weight"], [[0.0, 1.0]])
    assert steps.averages() == {}


@pytest.mark.parametrize(("gradients", "mean"), [((1.0,), 1.0), ((1.0, 2.0, 6.0), 3.0)])
def test_micro_batches_are_averaged(gradients, mean):
    """The gradient of a step is the mean over its micro-batches; a frozen weight has none."""
    layer = module()
    layer.frozen = nn.Parameter(torch.ones(1))
    Loop(Training(sgd, accumulate=len(gradients)), layer).step(constant(layer, *gradients))

    np.testing.assert_allclose(layer.weight.detach(), [[1 - mean / 2, 2 - mean / 2]])
    assert layer.frozen.grad is None


@pytest.mark.parametrize(
    "clip", [1.0, lambda parameters: nn.utils.clip_grad_norm_(parameters, 1.0)]
)
def test_gradients_are_clipped_by_a_norm_or_a_function(clip):
    """Clipping to a norm and by a function both add torch's 1e-6 to the divisor."""
    layer = module()
    Loop(Training(sgd, clip=clip), layer).step(constant(layer, 4.0))

    scale = 1 / (4 * 2**0.5 + 1e-6)
    expected = [[1 - 2 * scale, 2 - 2 * scale]]
    np.testing.assert_allclose(layer.weight.detach(), expected, rtol=1e-12)


def test_a_scheduler_is_stepped_after_the_optimizer():
    """A step uses the learning rate from before the scheduler's step."""
    layer = module()
    training = Training(sgd, scheduler=lambda opt: lr_scheduler.ExponentialLR(opt, 0.5))
    steps = Loop(training, layer)

    assert [steps.step(constant(layer, 0.0)) for _ in range(3)] == [[0.5], [0.25], [0.125]]
    rates = loop.learning_rates(training, module(), 3)
    assert rates == [[0.5], [0.25], [0.125]]
    assert loop.learning_rates(Training(sgd), module(), 2) == [[0.5], [0.5]]


def test_a_plateau_gets_the_last_loss():
    """ReduceLROnPlateau is given the loss of the last micro-batch."""
    layer, losses = module(), []

    class Plateau(lr_scheduler.ReduceLROnPlateau):
        def step(self, metrics: Any, epoch: Any = None) -> None:
            losses.append(metrics)

    training = Training(sgd, scheduler=Plateau, accumulate=2)
    Loop(training, layer).step(constant(layer, 1.0, 1.0))
    assert losses == [1.0]


def test_a_schedulers_own_errors_are_one_sentence():
    """The error names a factory that raises or does not return a scheduler."""
    with pytest.raises(ProofError, match="returned int, which is not a scheduler of torch.optim"):
        Loop(Training(sgd, scheduler=lambda opt: 3), module())
    with pytest.raises(ProofError, match=r"Training\(scheduler=\) raised ZeroDivisionError"):
        Loop(Training(sgd, scheduler=lambda opt: 1 / 0), module())


@pytest.mark.parametrize("ema", [0.75, lambda m: swa_utils.AveragedModel(
    m, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.75))])  # fmt: skip
def test_an_average_follows_the_weights(ema):
    """The first average copies the weights, later ones move towards them."""
    layer = module()
    steps = Loop(Training(sgd, ema=(ema, None)), layer)
    steps.step(constant(layer, 2.0))
    np.testing.assert_allclose(steps.averages()["weight"], [[0.0, 1.0]])
    steps.step(constant(layer, 2.0))
    np.testing.assert_allclose(steps.averages()["weight"], [[-0.25, 0.75]])


def test_the_users_function_changes_the_module_after_a_step():
    """`after=` runs without gradients, after the optimizer and before the average."""
    layer = module()

    def halve(m: Any) -> None:
        m.weight.mul_(0.5)

    steps = Loop(Training(sgd, ema=(0.75, None), after=(halve, None)), layer)  # pyright: ignore[reportArgumentType]
    steps.step(constant(layer, 2.0))
    np.testing.assert_allclose(steps.parameters()["weight"], [[0.0, 0.5]])
    np.testing.assert_allclose(steps.averages()["weight"], [[0.0, 0.5]])
    steps = Loop(Training(sgd, after=(lambda m: m.bais, None)), layer)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ProofError, match=r"Training\(after=\) raised AttributeError"):
        steps.step(constant(layer, 2.0))


def test_an_average_without_update_parameters_is_refused():
    """`ema=` must return an object with `update_parameters`, not the module itself."""
    with pytest.raises(ProofError, match="returned Linear, which has no update_parameters"):
        Loop(Training(sgd, ema=(lambda m: m, None)), module())


def test_moments_are_named_by_parameter():
    """Moments are tensors of the optimizer's state that belong to the module's parameters."""
    layer, other = module(), nn.Parameter(torch.ones(1))
    steps = Loop(Training(lambda ps: torch.optim.SGD([*ps, other], 0.1, momentum=0.9)), layer)
    other.grad = torch.ones(1)
    steps.optimizer.zero_grad = lambda: None
    steps.step(constant(layer, 2.0))

    assert list(steps.moments()) == ["weight"]
    np.testing.assert_array_equal(steps.moments()["weight"]["momentum_buffer"], [[2.0, 2.0]])


@pytest.mark.parametrize(("dtypes", "default"), [([torch.float64], torch.float64),
    ([torch.float32, torch.float64], torch.float64), ([torch.float32], torch.float32)])  # fmt: skip
def test_the_optimizer_runs_in_the_modules_precision(dtypes, default):
    """torch's default dtype is the module's while the optimizer is built, and is then restored."""
    layer = nn.ParameterList([nn.Parameter(torch.ones(1, dtype=dtype)) for dtype in dtypes])
    built = []

    def factory(parameters: Any) -> Any:
        built.append(torch.get_default_dtype())
        return torch.optim.SGD(parameters, 0.1)

    Loop(Training(factory), layer)
    assert built == [default]
    assert torch.get_default_dtype() == torch.float32


def test_gradients_are_added_in_the_parameters_dtype():
    """A gradient of None leaves the parameter's gradient as it is."""
    layer = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": nn.Parameter(torch.ones(2))})
    given = np.array([[1.0], [2.0]])
    for _ in range(2):
        loop.add_gradients(layer, {"a": given, "b": None})

    assert layer["a"].grad is not None
    assert layer["a"].grad.dtype == torch.float32
    assert layer["a"].grad.tolist() == [2.0, 4.0]
    assert layer["b"].grad is None


def scheduled(make: Any) -> Any:
    """Return a scheduler of a new optimizer."""
    return make(torch.optim.SGD([nn.Parameter(torch.ones(1))], 0.5))


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (lambda o: lr_scheduler.CosineAnnealingLR(o, 7), 7),
        (lambda o: lr_scheduler.OneCycleLR(o, 0.5, total_steps=9), 9),
        (lambda o: lr_scheduler.ExponentialLR(o, 0.9), 30),
        (lambda o: lr_scheduler.LinearLR(o, total_iters=4), 6),
        (lambda o: lr_scheduler.StepLR(o, 5), 7),
        (lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 6), 8),
        (lambda o: lr_scheduler.MultiStepLR(o, [3, 8, 5]), 10),
        (lambda o: lr_scheduler.LambdaLR(o, lambda step: 1.0), None),
        (
            lambda o: lr_scheduler.SequentialLR(
                o,
                [lr_scheduler.ConstantLR(o, total_iters=2), lr_scheduler.CosineAnnealingLR(o, 5)],
                [3],
            ),
            8,
        ),
        (
            lambda o: lr_scheduler.SequentialLR(
                o,
                [lr_scheduler.ConstantLR(o), lr_scheduler.LambdaLR(o, lambda step: 1.0)],
                [3],
            ),
            None,
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler(
                [lr_scheduler.StepLR(o, 5), lr_scheduler.ConstantLR(o, total_iters=2)]
            ),
            7,
        ),
        (
            lambda o: lr_scheduler.ChainedScheduler(
                [lr_scheduler.LambdaLR(o, lambda step: 1.0), lr_scheduler.StepLR(o, 4)]
            ),
            6,
        ),
    ],
    ids=(
        "cosine cycle exponential linear step restarts milestones lambda sequence endless chain "
        "unknown"
    ).split(),
)
@pytest.mark.filterwarnings("ignore")
def test_a_schedule_has_a_length(make, steps):
    """The length of a scheduler is the number of steps after which it has finished."""
    assert loop.length(scheduled(make)) == steps


def attached(parameters: Any) -> Any:
    """Return an optimizer whose hook steps a scheduler that is not passed to `prove`."""
    optimizer = torch.optim.SGD(parameters, 0.5)
    scheduler = lr_scheduler.StepLR(optimizer, 60)
    optimizer.register_step_post_hook(lambda *_: scheduler.step())
    return optimizer


def hidden(parameters: Any) -> Any:
    """Return an optimizer wrapped by a scheduler to which it keeps no reference."""
    optimizer = torch.optim.SGD(parameters, 0.5)
    lr_scheduler.StepLR(optimizer, 60)
    return optimizer


@pytest.mark.parametrize(
    ("training", "expected"),
    [
        (Training(sgd, total=12), (12, True)),
        (Training(sgd), (30, True)),
        (Training(sgd, scheduler=lambda o: lr_scheduler.StepLR(o, 60)), (62, True)),
        (Training(sgd, scheduler=lambda o: lr_scheduler.StepLR(o, 3)), (10, True)),
        (Training(sgd, scheduler=lambda o: lr_scheduler.LambdaLR(o, lambda s: 1.0)), (10, False)),
        (Training(attached), (62, True)),
        (Training(hidden), (10, False)),
    ],
    ids=["total", "none", "long", "short", "unknown", "hook", "hidden"],
)
def test_a_schedule_is_compared_over_its_range(training, expected):
    """The range covers at least the ten steps of the proof and the known length of the schedule."""
    assert loop.range_of(training, module(), 10) == expected


def test_at_least_the_proofs_steps_are_compared():
    """A proof of 40 steps compares 40 learning rates of an optimizer without a schedule."""
    assert loop.range_of(Training(sgd), module(), 40) == (40, True)


def test_the_settings_of_each_parameter_are_its_groups():
    """Parameters that do not belong to the module are left out."""
    layer, other = module(), nn.Parameter(torch.ones(1))
    training = Training(
        lambda ps: torch.optim.SGD([{"params": ps, "momentum": 0.5}, {"params": [other]}], 0.1)
    )
    settings = loop.settings(training, layer)

    assert list(settings) == ["weight"]
    assert settings["weight"]["momentum"] == 0.5


@pytest.mark.parametrize(
    ("factory", "text"),
    [
        (None, "the torch factory is missing: pass"),
        (3, "the torch factory is int, which is not callable"),
        (lambda p: 1 / 0, "the torch factory raised ZeroDivisionError"),
        (lambda p: 3, "returned int, which is not a torch optimizer"),
        (lambda p: lr_scheduler.StepLR(sgd(p), 3), "returned StepLR, which is not a torch optim"),
    ],
    ids=["missing", "number", "raises", "returns a number", "returns a scheduler"],
)
def test_a_wrong_factory_is_one_sentence(factory, text):
    """The error names a factory that is missing, raises, or does not return an optimizer."""
    with pytest.raises(ProofError, match=text):
        loop.build_optimizer(factory, module())


def test_an_optimizer_of_another_copy_of_the_module_is_refused():
    """A factory that ignores its argument and trains another module of equal shapes is an error."""
    outer, copy = nn.Sequential(nn.Linear(2, 2)), nn.Sequential(nn.Linear(2, 2))

    def factory(_):
        return torch.optim.SGD([{"params": outer[0].weight}, {"params": outer[0].bias}], 0.1)

    text = (
        r"group 0 of torch's SGD has a parameter of shape \(2, 2\) that is not in the module, and "
        r"lacks the module's '0.weight' of that shape, so it trains another module. Take .* lambda "
        "model: "
    )
    with pytest.raises(ProofError, match=text):
        loop.build_optimizer(factory, copy)
    assert loop.build_optimizer(factory, outer).param_groups[1]["params"] == [outer[0].bias]


def test_the_groups_of_parameters_are_numbered():
    """Each parameter is found by identity, whatever the order of the groups."""
    layer = nn.Linear(2, 2)
    training = Training(
        lambda m: torch.optim.SGD([{"params": m.bias}, {"params": m.weight, "lr": 0.2}], 0.1)
    )

    assert loop.groups(training, layer) == {"bias": 0, "weight": 1}


def test_a_factory_may_take_the_module():
    """A factory that builds parameter groups by name is called with the module."""
    optimizer = loop.build_optimizer(lambda m: sgd(m.parameters()), module())

    assert isinstance(optimizer, torch.optim.SGD)
