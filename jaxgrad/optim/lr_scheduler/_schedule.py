"""Schedules: torch's schedulers, which change the last learning rate, as functions of the step.

A scheduler of torch is a recursion: at each call it maps the optimizer's learning rate to the next.
Its maps are written in `Maps`, and many of them at once in closed form (`run`). Which scheduler is
called at which step is known beforehand, however they are nested: `segments` plays it through, as
torch would, from milestone to milestone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad import _compat


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


class Schedule:
    """A function of the step: the learning rate that torch's scheduler has set after `step` calls.

    Computed in float64, also where x64 is off, and rounded once to JAX's default float. The step is
    an int, a traced integer, or an array of them (then so is the result). Where torch raises at a
    step, so does an eager call; under `jit` the learning rate is NaN.
    """

    takes_lr = True  # the optimizer's, in whose place it was given

    def __init__(self, lr: Any, build: Build, last_epoch: int = -1) -> None:
        self.lr = as_float64(lr)
        if not _compat.is_traced(lr) and np.any(self.lr < 0):
            raise ValueError(f"Invalid learning rate: {lr}")
        if last_epoch < -1:
            raise ValueError(f"last_epoch must be -1 or more, got {last_epoch}")
        self.build = build
        self.last_epoch = last_epoch

    def __call__(self, step: Any) -> jax.Array:
        self._refuse(step)
        return self._rounded(step, self._compiled)

    @functools.cached_property
    def _plan(self) -> Plan:
        traced = _compat.is_traced(self.lr)
        now = contextlib.nullcontext() if traced else jax.ensure_compile_time_eval()
        with _compat.enable_x64(), now:
            made = plan(self.build, self.lr)
            if traced:
                return made
            segments = [s._replace(x=np.asarray(s.x, np.float64)) for s in made.segments]
            return made._replace(segments=segments)

    @functools.cached_property
    def _compiled(self) -> Callable[..., jax.Array]:
        return jax.jit(self._at, static_argnums=1)

    def _at(self, step: jax.Array, dtype: Any) -> jax.Array:
        segments, limit, _ = self._plan
        step = jnp.maximum(step.astype(jnp.int64), 0) + (self.last_epoch + 1)
        stops = [segment.start for segment in segments[1:]] + [limit]
        lr: Lr = jnp.float64(jnp.nan)
        for segment, stop in zip(segments, stops, strict=True):
            here = step >= segment.start
            if stop < math.inf:
                here &= step < stop
            lr = jnp.where(here, value(segment, jnp.where(here, step - segment.start, 0)), lr)
        return lr.astype(dtype)

    def _refuse(self, step: Any) -> None:
        _, limit, error = self._plan
        if limit < math.inf and not _compat.is_traced(step):
            if np.size(step) and np.max(step) + self.last_epoch + 1 >= limit:
                assert error is not None
                raise type(error)(*error.args)

    def _rounded(self, step: Any, compiled: Callable[..., jax.Array]) -> jax.Array:
        dtype = jnp.result_type(float)
        with _compat.enable_x64():
            step = jnp.asarray(step)
            fun: Callable[..., jax.Array] = lambda n: compiled(n, dtype)  # noqa: E731  # vmapped
            for _ in range(step.ndim):
                fun = jax.vmap(fun)
            return fun(step)


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


def as_float64(x: Any) -> Any:
    """A number, or a list with one for each parameter group."""
    if _compat.is_traced(x):
        with _compat.enable_x64():
            return x.astype(jnp.float64)
    return np.asarray(x, np.float64)


def per_group(name: str, x: Any, lr: Any) -> Any:
    """A setting that may be a list, as long as that of the learning rates."""
    if np.ndim(x) and np.ndim(lr) and np.size(x) != np.size(lr):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {np.size(x)} values, param_groups has {np.size(lr)}."
        )
    return as_float64(x)


def quotient(x: Any, y: Any) -> Any:
    """x / y as IEEE has it: by a constant, or a scalar, XLA would multiply by its reciprocal."""
    return x / lax.optimization_barrier(y + 0.0 * x)


def traceable(name: str, fun: Callable[..., Any], x: Any) -> Lr:
    """The user's function of an epoch, or an error that says what it may not do."""
    try:
        if isinstance(fun, (list, tuple)):
            return jnp.stack([jnp.asarray(f(x), jnp.float64) for f in fun])
        return jnp.asarray(fun(x), jnp.float64)
    except _compat.NEEDS_NUMBERS as error:
        raise TypeError(
            f"{name} must be traceable, but it asks for the number that its argument has: write "
            "jnp.where for `if`, jnp.minimum for `min`, jnp.cos for `math.cos`, "
            "jnp.asarray(values)[epoch] for `values[epoch]`"
        ) from error
