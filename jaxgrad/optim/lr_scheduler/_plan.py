"""torch's schedulers as recursions on the learning rate, and a plan of which one runs when.

Each call of a torch scheduler maps the optimizer's learning rate to the next one. `LrRecursion`
describes this map, and the effect of many calls in closed form (`run`). Even for nested schedulers,
it is known in advance which of them are called at which step: `plan` simulates torch's calls from
milestone to milestone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


Lr = Any  # float64 of shape () or (groups,)
Epoch = Any  # an int, or int64 of shape ()
Group = dict[str, Any]  # torch's param_group, through which schedulers share settings


@dataclasses.dataclass(frozen=True)
class LrRecursion:
    """How a torch scheduler maps the learning rate `x` to the next one."""

    step: Callable[[Lr, Epoch], Lr]  # (x, t): the call that reaches epoch t
    run: Callable[[Lr, Epoch, Epoch], Lr]  # (x, s, t): the calls for epochs s + 1, ..., t
    first: Callable[[Lr], Lr]  # the call in the constructor, at epoch 0
    reset: Callable[[Lr], Lr]  # the call at a milestone of SequentialLR, at epoch 0
    kind: str  # "absolute" (ignores x), "scaling" (multiplies x) or "affine"
    end: float = math.inf  # the epoch after which calls change nothing
    limit: float = math.inf  # the epoch after which torch raises `error`
    error: Callable[[int], Exception] = ValueError
    is_invertible: bool = True  # whether SequentialLR can undo the first call


def absolute(value: Callable[[Epoch], Lr], **kwargs: Any) -> LrRecursion:
    """Describe a scheduler that ignores the previous learning rate."""
    return LrRecursion(
        step=lambda _, t: value(t),
        run=lambda *args: value(args[-1]),
        first=lambda _: value(0),
        reset=lambda _: value(0),
        kind="absolute",
        **kwargs,
    )


def scaling(
    run: Callable[[Lr, Epoch, Epoch], Lr],
    reset: Callable[[], Lr],
    first: Callable[[Lr], Lr] = lambda x: x,
    **kwargs: Any,
) -> LrRecursion:
    """Describe a scheduler that multiplies the previous learning rate."""
    return LrRecursion(
        step=lambda x, t: run(x, t - 1, t),
        run=run,
        first=first,
        reset=lambda _: reset(),
        kind="scaling",
        **kwargs,
    )


class Scheduler:
    """A torch LRScheduler as `plan` simulates it: its recursion and its current epoch."""

    def __init__(self, recursion: LrRecursion) -> None:
        self.recursion = recursion
        self.epoch = 0

    def first(self, x: Lr) -> Lr:
        self.epoch = 0
        return self.recursion.first(x)

    def step(self, x: Lr) -> Lr:
        self.epoch += 1
        if self.epoch > self.recursion.limit:
            raise self.recursion.error(self.epoch)
        return self.recursion.step(x, self.epoch)

    def reset(self, x: Lr) -> Lr:
        self.epoch = 0
        return self.recursion.reset(x)

    def undo(self) -> None:
        self.epoch -= self.recursion.is_invertible

    def skip(self, steps: int) -> None:
        self.epoch += steps

    def active(self) -> list[tuple[LrRecursion, int]]:
        """Return the schedulers that the next steps will call, with their current epochs."""
        return [(self.recursion, self.epoch)]

    def horizon(self) -> float:
        """Return the number of steps until the set of called schedulers changes or one raises."""
        return self.recursion.limit - self.epoch + 1


Build = Callable[[Group], Any]


class Segment(NamedTuple):
    """A range of steps from `start` that all call the same schedulers."""

    start: int
    x: Lr  # the learning rate at `start`
    active: Sequence[tuple[LrRecursion, int]]


class Plan(NamedTuple):
    segments: Sequence[Segment]
    limit: float  # the first step at which torch raises `error`
    error: Exception | None


def plan(build: Build, lr: Lr) -> Plan:
    """Simulate torch's calls and split the steps into segments."""
    group: Group = {"lr": lr}
    root = build(group)
    start, x, segments = 0, group["lr"], []
    while True:
        segments.append(Segment(start, x, root.active()))
        steps = root.horizon()
        if steps == math.inf:
            return Plan(segments, math.inf, None)
        x = value(segments[-1], int(steps) - 1)
        root.skip(int(steps) - 1)
        start += int(steps)
        try:
            x = root.step(x)
        except (NotImplementedError, ValueError, ZeroDivisionError) as error:
            return Plan(segments, start, error)


def value(segment: Segment, steps: Epoch) -> Lr:
    """Return the learning rate `steps` steps after the start of a segment."""
    x, active = segment.x, segment.active
    kinds = [recursion.kind for recursion, _ in active]
    if "absolute" in kinds:
        y, last = x, len(kinds) - 1 - kinds[::-1].index("absolute")
        for recursion, epoch in active[last:]:
            y = recursion.step(y, epoch + steps)
        return jnp.where(steps == 0, x, y)
    if len(kinds) == 1 or set(kinds) <= {"scaling"}:
        for recursion, epoch in active:
            x = recursion.run(x, epoch, epoch + steps)
        return x

    def body(i: Epoch, x: Lr) -> Lr:  # affine maps with different centres have no closed form
        for recursion, epoch in active:
            x = recursion.step(x, epoch + i + 1)
        return x

    return loop(0, steps, body, x)


def loop(start: Epoch, stop: Epoch, body: Callable[[Epoch, Lr], Lr], x: Lr) -> Lr:
    """Run `lax.fori_loop` over int64, with `x` broadcast to the shape of the result."""
    zero = jnp.int64(0)
    shape = jax.eval_shape(lambda x: body(zero, x), x).shape
    x = jnp.broadcast_to(jnp.asarray(x, jnp.float64), shape)
    return lax.fori_loop(jnp.asarray(start, jnp.int64), jnp.asarray(stop, jnp.int64), body, x)


def leaf(make: Callable[[Group], LrRecursion]) -> Build:
    """Return a function that builds a scheduler and, as torch does, makes its first call."""

    def build(group: Group) -> Scheduler:
        scheduler = Scheduler(make(group))
        group["lr"] = scheduler.first(group["lr"])
        return scheduler

    return build


def base_lr(group: Group) -> Lr:
    """Return the learning rate before the first scheduler was constructed."""
    return group.setdefault("initial_lr", group["lr"])
