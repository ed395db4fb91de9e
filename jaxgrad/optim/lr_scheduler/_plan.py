"""torch's schedulers as maps of the learning rate, and who is called at which step.

A scheduler of torch is a recursion: at each call it maps the optimizer's learning rate to the next.
Its maps are written in `Maps`, and many of them at once in closed form (`run`). Which scheduler is
called at which step is known beforehand, however they are nested: `plan` plays it through, as torch
would, from milestone to milestone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax


Lr = Any  # float64, of shape (), or (groups,)
Epoch = Any  # an int, or int64 of shape ()
Group = dict[str, Any]  # torch's param_group: where schedulers find each other's settings


@dataclasses.dataclass(frozen=True)
class Maps:
    """What a scheduler of torch makes of the learning rate `x`.

    Args:
      step: `(x, t)`: its `step()` that arrives at epoch t.
      run: `(x, s, t)`: `step` at the epochs s + 1, ..., t.
      first: The call in its constructor, at epoch 0.
      reset: The call at its milestone in a SequentialLR, at epoch 0.
      kind: "absolute" (x does not matter), "scaling" (x times a number), or "affine".
      end: After this epoch its steps change nothing.
      limit: After this epoch torch raises `error`.
      undoes: Whether SequentialLR can take back its first call.
    """

    step: Callable[[Lr, Epoch], Lr]
    run: Callable[[Lr, Epoch, Epoch], Lr]
    first: Callable[[Lr], Lr]
    reset: Callable[[Lr], Lr]
    kind: str
    end: float = math.inf
    limit: float = math.inf
    error: Callable[[int], Exception] = ValueError
    undoes: bool = True


def absolute(value: Callable[[Epoch], Lr], **kwargs: Any) -> Maps:
    """A scheduler that does not look at the last learning rate."""
    return Maps(
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
) -> Maps:
    """A scheduler that multiplies the last learning rate."""
    return Maps(
        step=lambda x, t: run(x, t - 1, t),
        run=run,
        first=first,
        reset=lambda _: reset(),
        kind="scaling",
        **kwargs,
    )


class Scheduler:
    """torch's LRScheduler while `segments` plays it: `Maps`, and the epoch they have come to."""

    def __init__(self, maps: Maps) -> None:
        self.maps = maps
        self.epoch = 0

    def first(self, x: Lr) -> Lr:
        self.epoch = 0
        return self.maps.first(x)

    def step(self, x: Lr) -> Lr:
        self.epoch += 1
        if self.epoch > self.maps.limit:
            raise self.maps.error(self.epoch)
        return self.maps.step(x, self.epoch)

    def reset(self, x: Lr) -> Lr:
        self.epoch = 0
        return self.maps.reset(x)

    def undo(self) -> None:
        self.epoch -= self.maps.undoes

    def skip(self, steps: int) -> None:
        self.epoch += steps

    def active(self) -> list[tuple[Maps, int]]:
        """The schedulers that the next steps call in turn, and their epochs now."""
        return [(self.maps, self.epoch)]

    def horizon(self) -> float:
        """Which of the next steps is the first that calls others, or raises."""
        return self.maps.limit - self.epoch + 1


Build = Callable[[Group], Any]


class Segment(NamedTuple):
    """Steps from `start` on, all of which call the same schedulers."""

    start: int
    x: Lr  # at `start`
    active: Sequence[tuple[Maps, int]]


class Plan(NamedTuple):
    segments: Sequence[Segment]
    limit: float  # the first step at which torch raises `error`
    error: Exception | None


def plan(build: Build, lr: Lr) -> Plan:
    """Play torch's calls through."""
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
    """The learning rate so many steps after the start of a segment."""
    x, active = segment.x, segment.active
    kinds = [maps.kind for maps, _ in active]
    if "absolute" in kinds:
        y, last = x, len(kinds) - 1 - kinds[::-1].index("absolute")
        for maps, epoch in active[last:]:
            y = maps.step(y, epoch + steps)
        return jnp.where(steps == 0, x, y)
    if len(kinds) == 1 or set(kinds) <= {"scaling"}:
        for maps, epoch in active:
            x = maps.run(x, epoch, epoch + steps)
        return x

    def body(i: Epoch, x: Lr) -> Lr:  # affine maps about different centres have no closed form
        for maps, epoch in active:
            x = maps.step(x, epoch + i + 1)
        return x

    return loop(0, steps, body, x)


def loop(start: Epoch, stop: Epoch, body: Callable[[Epoch, Lr], Lr], x: Lr) -> Lr:
    """`lax.fori_loop` over int64, with x in the shape that it will have."""
    zero = jnp.int64(0)
    shape = jax.eval_shape(lambda x: body(zero, x), x).shape
    x = jnp.broadcast_to(jnp.asarray(x, jnp.float64), shape)
    return lax.fori_loop(jnp.asarray(start, jnp.int64), jnp.asarray(stop, jnp.int64), body, x)


def leaf(make: Callable[[Group], Maps]) -> Build:
    """How a scheduler comes to be: its maps, from the optimizer's settings, and its first call."""

    def build(group: Group) -> Scheduler:
        made = Scheduler(make(group))
        group["lr"] = made.first(group["lr"])
        return made

    return build


def base_lr(group: Group) -> Lr:
    """The learning rate that the first of all schedulers found."""
    return group.setdefault("initial_lr", group["lr"])
