"""Combinations of schedules: `sequential_lr` and `chained_scheduler`."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgrad._core import argument_names, compat
from jaxgrad.optim.lr_scheduler._plan import Group, Lr, LrRecursion
from jaxgrad.optim.lr_scheduler._plateau import ReduceLROnPlateau
from jaxgrad.optim.lr_scheduler._schedule import Rates, Schedule


@argument_names.checked
def sequential_lr(
    lr: Rates, schedulers: Sequence[Schedule], milestones: Sequence[int], last_epoch: int = -1
) -> Schedule:
    """Run schedules one after the other; each starts at its milestone, from its own epoch 0.

    Args:
        lr: Initial learning rate, which must equal that of every schedule.
        schedulers: Schedules of this module, in the order in which torch would construct them.
        milestones: Steps at which the second, third, ... schedule starts.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        TypeError: An element of `schedulers` is not a schedule of this module.
        ValueError: `schedulers` is empty, contains a `reduce_lr_on_plateau` or a schedule with a
            different learning rate, or the number of milestones is wrong.
        NotImplementedError: A sequential or chained schedule starts at a milestone; torch supports
            these only in first place.

    Example:
        >>> from jaxgrad.optim.lr_scheduler import constant_lr, exponential_lr
        >>> warmup = constant_lr(1.0, factor=0.5, total_iters=4)
        >>> schedule = sequential_lr(1.0, [warmup, exponential_lr(1.0, gamma=0.5)], milestones=[4])
        >>> print(schedule(3), schedule(4), schedule(6))
        0.5 1.0 0.25

    Torch: `torch.optim.lr_scheduler.SequentialLR`.

    Differs from optax in:
        1. `optax.join_schedules` restarts each schedule. In torch a schedule with a closed form (a
           decay, a cosine) starts from the initial learning rate, MultiplicativeLR and SWALR
           continue from the last one, and nested sequential schedules count steps differently.
    """
    _check("SequentialLR", lr, schedulers)
    if len(milestones) != len(schedulers) - 1:
        raise ValueError(
            "Sequential Schedulers expects number of schedulers provided to be one more than the "
            f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
            f"number of milestones to be equal to {len(milestones)}"
        )

    def build(group: Group) -> _Sequence:
        sequence = _Sequence([one.build(group) for one in schedulers], list(milestones))
        sequence.undo()
        group["lr"] = sequence.start(group["initial_lr"])
        return sequence

    return Schedule(lr, build, last_epoch)


@argument_names.checked
def chained_scheduler(
    schedulers: Sequence[Schedule], lr: Rates | Sequence[Schedule] | None = None
) -> Schedule:
    """Apply all schedules in every step, each to the previous one's learning rate.

    If all schedules multiply the learning rate, or one sets it outright, a step is as cheap as its
    schedules. Cosine annealing or SWALR chained with others may loop over all previous steps.

    Args:
        schedulers: Schedules of this module, in the order in which they are applied.
        lr: Initial learning rate, equal to the schedules'. It may also be the first argument.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        TypeError: An element of `schedulers` is not a schedule of this module.
        ValueError: `schedulers` is empty, or contains a `reduce_lr_on_plateau` or a schedule with a
            different learning rate.

    Example:
        >>> from jaxgrad.optim.lr_scheduler import constant_lr, exponential_lr
        >>> warmup = constant_lr(1.0, factor=0.5, total_iters=4)
        >>> schedule = chained_scheduler([warmup, exponential_lr(1.0, gamma=0.5)])
        >>> print(schedule(0), schedule(1), schedule(4))
        0.5 0.25 0.0625

    Torch: `torch.optim.lr_scheduler.ChainedScheduler`.
    """
    rates: Any = lr
    if isinstance(rates, (list, tuple)) and any(isinstance(x, Schedule) for x in rates):
        schedulers, rates = rates, schedulers  # lr first, as in the other schedulers
    if rates is None and isinstance(schedulers, Sequence) and schedulers:
        rates = getattr(schedulers[0], "lr", None)
    _check("ChainedScheduler", rates, schedulers)
    assert rates is not None  # else `_check` has raised

    def build(group: Group) -> _Chain:
        return _Chain([one.build(group) for one in schedulers])

    return Schedule(rates, build)


class _Sequence:
    """torch's SequentialLR during `plan`, with the interface of `Scheduler`."""

    def __init__(self, parts: list[Any], milestones: list[int]) -> None:
        self.parts = parts
        self.milestones = milestones
        self.epoch = 0

    @property
    def now(self) -> Any:
        return self.parts[bisect_right(self.milestones, self.epoch)]

    def start(self, x: Lr) -> Lr:
        return self.now.first(x)

    def step(self, x: Lr) -> Lr:
        self.epoch += 1
        index = bisect_right(self.milestones, self.epoch)
        if index > 0 and self.milestones[index - 1] == self.epoch:
            return self.parts[index].reset(x)
        return self.parts[index].step(x)

    first = step  # torch counts `_initial_step` as a step and does not undo it

    def reset(self, x: Lr) -> Lr:
        del x
        raise NotImplementedError(
            "torch's SequentialLR cannot start a SequentialLR or a ChainedScheduler at a "
            "milestone; put it first, or list its schedulers individually"
        )

    def undo(self) -> None:
        for part in self.parts:
            part.undo()

    def skip(self, steps: int) -> None:
        self.now.skip(steps)
        self.epoch += steps

    def active(self) -> list[tuple[LrRecursion, int]]:
        return self.now.active()

    def horizon(self) -> float:
        ahead = [math.ceil(m - self.epoch) for m in self.milestones if m > self.epoch]
        return min([self.now.horizon(), *ahead])


class _Chain:
    """torch's ChainedScheduler during `plan`, with the interface of `Scheduler`."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def step(self, x: Lr) -> Lr:
        for part in self.parts:
            x = part.step(x)
        return x

    first = step
    reset, undo = _Sequence.reset, _Sequence.undo

    def skip(self, steps: int) -> None:
        for part in self.parts:
            part.skip(steps)

    def active(self) -> list[tuple[LrRecursion, int]]:
        """Return the schedulers that have not ended; with fewer, a closed form may exist."""
        pairs = [pair for part in self.parts for pair in part.active()]
        return [(recursion, epoch) for recursion, epoch in pairs if epoch < recursion.end]

    def horizon(self) -> float:
        ends = [recursion.end - epoch for recursion, epoch in self.active()]
        return min([part.horizon() for part in self.parts] + ends)


def _check(name: str, lr: Any, schedulers: Sequence[Any]) -> None:
    if isinstance(schedulers, Schedule):
        raise TypeError(f"{name} takes a list of schedules, but got one schedule")
    if len(schedulers) < 1:
        raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
    for i, one in enumerate(schedulers):
        if isinstance(one, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional "
                f"kwargs to be specified when calling `step`, but got one at index {i} in the "
                "given schedulers sequence."
            )
        if not isinstance(one, Schedule):
            raise TypeError(
                f"{name} at index {i} should be a schedule of jaxgrad.optim.lr_scheduler, but got "
                f"{type(one).__name__}"
            )
        if one.last_epoch != -1:
            raise ValueError(
                f"{name} expects schedules that start at epoch 0, but the one at index {i} has "
                f"last_epoch={one.last_epoch}"
            )
        if compat.is_traced(lr) or compat.is_traced(one.lr) or not one.takes_lr:
            continue
        if np.any(one.lr != np.asarray(lr, np.float64)):
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got one at "
                f"index {i} with lr={one.lr}, which is different from lr={lr}."
            )
