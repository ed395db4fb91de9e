"""torch's schedulers are constructed again with one argument changed."""

from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler

from jaxgrad.parity.prove.record.torch_side import schedulers


def optimizer() -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.5)


def rates(make: Any, steps: int = 4) -> list[float]:
    """Return the first learning rates of a schedule."""
    made = optimizer()
    scheduler, found = make(made), []
    for _ in range(steps):
        found.append(made.param_groups[0]["lr"])
        made.step()
        scheduler.step()
    return found


def warmup(made: Any, start: float = 0.5) -> Any:
    return lr_scheduler.LinearLR(made, start, total_iters=2)


def sequence(made: Any, start: float = 0.5, gamma: float = 0.5) -> Any:
    decay = lr_scheduler.ExponentialLR(made, gamma)
    return lr_scheduler.SequentialLR(made, [warmup(made, start), decay], milestones=[2])


class Halving(lr_scheduler.StepLR):
    """A scheduler of the user, whose constructor calls that of torch's class."""

    def __init__(self, optimizer: Any, every: int = 1) -> None:
        super().__init__(optimizer, every, 0.5)


def test_the_first_rate_changes_with_the_argument():
    """An attribute that is set after construction leaves the first rate and those after it."""
    (part,) = schedulers.parts(warmup, optimizer())
    assert part.arguments["start_factor"] == 0.5 and part.arguments["total_iters"] == 2
    changed = schedulers.changed(warmup, part, "start_factor", 0.25)
    assert rates(changed) == pytest.approx(rates(lambda made: warmup(made, 0.25)))
    assert rates(changed)[0] == 0.125


@pytest.mark.parametrize(
    ("name", "value", "same"),
    [("start_factor", 0.25, {"start": 0.25}), ("gamma", 0.1, {"gamma": 0.1})],
)
def test_one_part_of_a_sequence_is_changed(name: str, value: float, same: dict[str, float]):
    """The parts are listed in the order of the sequence, whatever the order of construction."""
    parts = schedulers.parts(sequence, optimizer())
    assert [part.kind for part in parts] == [lr_scheduler.LinearLR, lr_scheduler.ExponentialLR]
    part = next(part for part in parts if name in part.arguments)
    changed = schedulers.changed(sequence, part, name, value)
    assert rates(changed) == pytest.approx(rates(lambda made: sequence(made, **same)))


def test_one_of_two_parts_of_the_same_class_is_changed():
    """The other part keeps its argument."""

    def make(made: Any) -> Any:
        parts = [lr_scheduler.ExponentialLR(made, gamma) for gamma in (0.5, 0.9)]
        return lr_scheduler.ChainedScheduler(parts)

    _, second = schedulers.parts(make, optimizer())
    assert second.arguments["gamma"] == 0.9
    changed = schedulers.changed(make, second, "gamma", 0.8)
    assert rates(changed, 3) == pytest.approx([0.5, 0.5 * 0.4, 0.5 * 0.16])


def test_the_arguments_of_the_users_own_class_are_changed():
    """The arguments of the base class, whose constructor it calls, are not listed."""
    (part,) = schedulers.parts(Halving, optimizer())
    assert set(part.arguments) == {"self", "optimizer", "every"}
    assert rates(schedulers.changed(Halving, part, "every", 2)) == [0.5, 0.5, 0.25, 0.25]


def test_the_classes_are_restored():
    """The constructors are as before, even if a changed argument is refused."""
    before = [vars(kind).get("__init__") for kind in (lr_scheduler.LinearLR, Halving)]
    (part,) = schedulers.parts(warmup, optimizer())
    with pytest.raises(ValueError, match="factor expected to be"):
        schedulers.changed(warmup, part, "start_factor", 2.0)(optimizer())
    schedulers.parts(Halving, optimizer())
    assert [vars(kind).get("__init__") for kind in (lr_scheduler.LinearLR, Halving)] == before
