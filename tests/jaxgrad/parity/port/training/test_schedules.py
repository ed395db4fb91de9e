"""torch's schedulers are written as those of jaxgrad, from the arguments that made them."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler, swa_utils

from jaxgrad import optim
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.training.schedules import write_rates


def optimizer():
    first, second = torch.zeros(2, requires_grad=True), torch.zeros(3, requires_grad=True)
    return torch.optim.SGD([{"params": [first]}, {"params": [second], "lr": 0.2}], 0.1, 0.9)


class Inherited(lr_scheduler.LambdaLR):
    def __init__(self, optimizer, gamma):
        super().__init__(optimizer, lambda epoch: gamma**epoch)


class Changed(lr_scheduler.ExponentialLR):
    def get_lr(self) -> Any:
        return [1.0, 1.0]


def linear_then(second):
    return lambda opt: lr_scheduler.SequentialLR(
        opt, [lr_scheduler.LinearLR(opt, 0.1, total_iters=2), second(opt)], [2]
    )


def by_group(opt):
    def slow(epoch):
        return 1.0 if epoch < 3 else 0.5

    return lr_scheduler.LambdaLR(opt, [lambda epoch: 0.9**epoch, slow])


def warm(epoch):
    return min(1.0, (epoch + 1) / 4)


def warm_again(epoch):
    return min(1.0, (epoch + 1) / 4)


def warm_in_5(epoch):
    return min(1.0, (epoch + 1) / 5)


RATES: Any = [0.01, 0.02]  # torch declares a float, and takes a list

FACTORIES = {
    "one cycle": lambda opt: lr_scheduler.OneCycleLR(opt, [0.1, 0.3], total_steps=12),
    "cyclic": lambda opt: lr_scheduler.CyclicLR(
        opt, 0.01, 0.1, 3, scale_fn=lambda x: 0.5 * x, scale_mode="cycle"
    ),
    "stochastic weight averaging": lambda opt: swa_utils.SWALR(opt, RATES, 4),
    "a function for each group": by_group,
    "a subclass with its own constructor": lambda opt: Inherited(opt, gamma=0.5),
    "a sequence": linear_then(lambda opt: lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.5)),
    "a chain": lambda opt: lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(opt, 0.1), lr_scheduler.MultiStepLR(opt, [2, 4])]
    ),
    "none": None,
}


def column(schedule: Any, steps: int) -> Any:
    return schedule(np.arange(steps)) if callable(schedule) else [schedule] * steps


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FACTORIES)
def test_the_rates_of_each_group_are_those_of_torch(name):
    """Learning rate and momentum agree with torch's for seven steps."""
    factory, opt = FACTORIES[name], optimizer()
    rates = write_rates(optimizer(), factory, ["slow"])
    lines = [syntax.text(x.node if isinstance(x, Written) else x) for x in rates.section]
    space = {"optim": optim, "jnp": jnp}
    exec("\n".join(lines), space)
    scheduler = None if factory is None else factory(opt)
    torchs = []
    for _ in range(7):
        torchs.append([[g["lr"], g["momentum"]] for g in opt.param_groups])
        opt.step()
        if scheduler is not None:
            scheduler.step()

    for group, (lr, momentum) in enumerate(zip(rates.lrs, rates.momenta, strict=True)):
        wanted = np.array(torchs)[:, group]
        np.testing.assert_allclose(column(eval(syntax.text(lr), space), 7), wanted[:, 0], 1e-6)
        cycled = 0.9 if momentum is None else eval(syntax.text(momentum), space)
        np.testing.assert_allclose(column(cycled, 7), wanted[:, 1], 1e-6)
    assert (rates.momenta[0] is not None) == (name in ("one cycle", "cyclic"))


def test_a_schedule_that_two_groups_share_is_assigned_once():
    """Equal groups read one `SCHEDULE`; a function's name is one that the port does not use."""
    shared = write_rates(optimizer(), lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.2), [])
    assert len(shared.section) == 2 and syntax.text(shared.lrs[1]) == "SCHEDULE_2"
    equal = optimizer()
    equal.param_groups[1]["lr"] = 0.1
    shared = write_rates(equal, lambda o: lr_scheduler.CyclicLR(o, 0.1, 0.2), [])
    assert len(shared.section) == 1 and syntax.text(shared.lrs[1]) == "SCHEDULE"
    (function,) = write_rates(optimizer(), by_group, ["slow"]).section
    assert isinstance(function, Written) and function.name == "slow_2"


@pytest.mark.parametrize(
    ("functions", "names"),
    [
        ([warm, warm], ["warm", "warm"]),
        ([warm, warm_again], ["warm", "warm"]),
        ([warm, warm_in_5], ["warm", "warm_in_5"]),
    ],
)
def test_equal_functions_of_two_groups_are_written_once(functions, names):
    """Functions with equal bodies are one function of the port, whatever their names are."""
    rates = write_rates(optimizer(), lambda o: lr_scheduler.LambdaLR(o, functions), [])
    assert [function.name for function in rates.section] == list(dict.fromkeys(names))  # pyright: ignore[reportAttributeAccessIssue]
    for code, name in zip(rates.lrs, names, strict=True):
        assert syntax.text(code).endswith(f"lr_lambda={name})")


def test_a_long_schedule_is_one_function_of_the_initial_learning_rate():
    """Groups whose schedules differ in their initial learning rate alone share a function."""
    factory = linear_then(lambda opt: lr_scheduler.StepLR(opt, 2))
    rates = write_rates(optimizer(), factory, ["schedule"])
    (function,) = rates.section
    assert isinstance(function, Written)
    assert syntax.text(function.node).startswith("def schedule_2(lr):")
    assert [*map(syntax.text, rates.lrs)] == ["schedule_2(0.1)", "schedule_2(0.2)"]


def test_a_schedule_of_one_group_is_written_in_place():
    """So are equal schedules of all groups, which become one option, and short ones."""
    factory = linear_then(lambda opt: lr_scheduler.StepLR(opt, 2))
    assert not write_rates(optimizer(), factory, [], kept=[1]).section
    equal = optimizer()
    equal.param_groups[1]["lr"] = 0.1
    assert not write_rates(equal, factory, []).section
    short = write_rates(optimizer(), lambda opt: lr_scheduler.StepLR(opt, 2), [])
    assert not short.section and syntax.text(short.lrs[1]).startswith("optim.lr_scheduler.step_lr")
    chain = linear_then(by_group)  # each group has a function of its own
    assert syntax.text(write_rates(optimizer(), chain, []).lrs[1]).startswith("optim.lr_scheduler.")


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (lambda opt: Changed(opt, 0.9), "the scheduler Changed has no counterpart"),
        (lr_scheduler.ReduceLROnPlateau, "ReduceLROnPlateau reads a metric after each epoch"),
        (
            linear_then(lambda opt: lr_scheduler.OneCycleLR(opt, 0.1, total_steps=9)),
            "a scheduler inside SequentialLR cycles the momentum; pass cycle_momentum=False",
        ),
    ],
)
def test_a_scheduler_without_a_counterpart_is_refused(factory, words):
    """The error says what to write instead."""
    with pytest.raises(PortError, match=words):
        write_rates(optimizer(), factory, [])
