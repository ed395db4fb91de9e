"""Schedules of schedules: one after the other, or all at once."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxgrad._core import compat
from jaxgrad.optim.lr_scheduler._plan import Group, Lr, Maps
from jaxgrad.optim.lr_scheduler._plateau import ReduceLROnPlateau
from jaxgrad.optim.lr_scheduler._schedule import Schedule


def sequential_lr(
    lr: Any, schedulers: Sequence[Schedule], milestones: Sequence[int], last_epoch: int = -1
) -> Schedule:
    """One schedule after the other; the next one starts at its milestone, at its own epoch 0.

    Args:
      lr: The initial learning rate, with which the schedules were made too.
      schedulers: Schedules of this module, in the order in which torch would construct them.
      milestones: The steps at which the second, third, ... starts.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule: step -> learning rate.

    Raises:
      TypeError: One of them is no schedule of this module.
      ValueError: There is none, or one is a `reduce_lr_on_plateau`, or was made with another
        learning rate; or the number of milestones is wrong.
      NotImplementedError: At a milestone of a schedule that is sequential or chained itself: torch
        has that only in the first place.

    Example:
      >>> from jaxgrad.optim.lr_scheduler import constant_lr, exponential_lr
      >>> warmup = constant_lr(1.0, factor=0.5, total_iters=4)
      >>> schedule = sequential_lr(1.0, [warmup, exponential_lr(1.0, gamma=0.5)], milestones=[4])
      >>> print(schedule(3), schedule(4), schedule(6))
      0.5 1.0 0.25

    Torch: `torch.optim.lr_scheduler.SequentialLR`.

    Differs from optax in:
      1. `optax.join_schedules` starts each schedule anew. In torch one that has a closed form (a
         decay, a cosine) starts from the initial learning rate; MultiplicativeLR and SWALR go on
         from the last; and one inside another sequential schedule counts from another step.
    """
    _check("SequentialLR", lr, schedulers)
    if len(milestones) != len(schedulers) - 1:
        raise ValueError(
            "Sequential Schedulers expects number of schedulers provided to be one more than the "
            f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
            f"number of milestones to be equal to {len(milestones)}"
        )

    def build(group: Group) -> _Sequence:
        made = _Sequence([one.build(group) for one in schedulers], list(milestones))
        made.undo()
        group["lr"] = made.start(group["initial_lr"])
        return made

    return Schedule(lr, build, last_epoch)


def chained_scheduler(schedulers: Sequence[Schedule], lr: Any = None) -> Schedule:
    """All schedules at once: at each step one after the other changes the learning rate.

    Where only factors meet, or one sets the learning rate outright, a step costs what its parts
    cost; a cosine or SWALR beside factors that go on for ever is a loop over the steps so far.

    Args:
      schedulers: Schedules of this module, in the order in which they act.
      lr: The initial learning rate, with which the schedules were made. May also come first.

    Returns:
      A schedule: step -> learning rate.

    Raises:
      TypeError: One of them is no schedule of this module.
      ValueError: There is none, or one is a `reduce_lr_on_plateau`, or was made with another
        learning rate.

    Example:
      >>> from jaxgrad.optim.lr_scheduler import constant_lr, exponential_lr
      >>> warmup = constant_lr(1.0, factor=0.5, total_iters=4)
      >>> schedule = chained_scheduler([warmup, exponential_lr(1.0, gamma=0.5)])
      >>> print(schedule(0), schedule(1), schedule(4))
      0.5 0.25 0.0625

    Torch: `torch.optim.lr_scheduler.ChainedScheduler`.
    """
    if isinstance(lr, (list, tuple)) and any(isinstance(x, Schedule) for x in lr):
        schedulers, lr = lr, schedulers  # the learning rate first, as in all the others
    if lr is None and len(schedulers) and isinstance(schedulers[0], Schedule):
        lr = schedulers[0].lr
    _check("ChainedScheduler", lr, schedulers)

    def build(group: Group) -> _Chain:
        return _Chain([one.build(group) for one in schedulers])

    return Schedule(lr, build)


class _Sequence:
    """torch's SequentialLR while it is played: see `Scheduler`."""

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
        place = bisect_right(self.milestones, self.epoch)
        if place > 0 and self.milestones[place - 1] == self.epoch:
            return self.parts[place].reset(x)
        return self.parts[place].step(x)

    first = step  # torch's `_initial_step` is a step, and its own epoch is not undone

    def reset(self, x: Lr) -> Lr:
        del x
        raise NotImplementedError(
            "torch's SequentialLR cannot start a SequentialLR or a ChainedScheduler at a "
            "milestone; put it first, or its schedulers in its place"
        )

    def undo(self) -> None:
        for part in self.parts:
            part.undo()

    def skip(self, steps: int) -> None:
        self.now.skip(steps)
        self.epoch += steps

    def active(self) -> list[tuple[Maps, int]]:
        return self.now.active()

    def horizon(self) -> float:
        ahead = [math.ceil(m - self.epoch) for m in self.milestones if m > self.epoch]
        return min([self.now.horizon(), *ahead])


class _Chain:
    """torch's ChainedScheduler while it is played: see `Scheduler`."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def step(self, x: Lr) -> Lr:
        for part in self.parts:
            x = part.step(x)
        return x

    first = step
    reset = _Sequence.reset

    def undo(self) -> None:
        for part in self.parts:
            part.undo()

    def skip(self, steps: int) -> None:
        for part in self.parts:
            part.skip(steps)

    def active(self) -> list[tuple[Maps, int]]:
        """Without those that have come to their end: what is left may have a closed form."""
        every = [pair for part in self.parts for pair in part.active()]
        return [(maps, epoch) for maps, epoch in every if epoch < maps.end]

    def horizon(self) -> float:
        ends = [maps.end - epoch for maps, epoch in self.active()]
        return min([part.horizon() for part in self.parts] + ends)


def _check(name: str, lr: Any, schedulers: Sequence[Any]) -> None:
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
