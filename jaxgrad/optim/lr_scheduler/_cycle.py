"""Schedules that cycle the momentum too: one cycle for the whole training, or many."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxgrad.optim.lr_scheduler._schedule import (
    Group,
    Maps,
    Schedule,
    Scheduler,
    absolute,
    leaf,
    per_group,
    quotient,
    traceable,
)


class CyclicSchedule(Schedule):
    """A schedule with `.momentum`, or the first beta: down where the learning rate goes up."""

    takes_lr = False

    def __init__(self, lr: Any, build: Any, momentum: Any, last_epoch: int) -> None:
        super().__init__(lr, build, last_epoch)
        self._momentum_at = momentum

    def momentum(self, step: Any) -> jax.Array:
        """The momentum (SGD, RMSprop) or the first beta (Adam) of a step.

        Args:
          step: As for the schedule itself.

        Returns:
          A float of shape (), or of the number of parameter groups.

        Raises:
          ValueError: The schedule was made with `cycle_momentum=False`.
        """
        if self._momentum_at is None:
            raise ValueError("there is no momentum to cycle: cycle_momentum=False was given")
        self._refuse(step)
        return self._rounded(step, self._compiled_momentum)

    @functools.cached_property
    def _compiled_momentum(self) -> Callable[..., jax.Array]:
        limit = self._plan.limit

        def at(step: jax.Array, dtype: Any) -> jax.Array:
            step = jnp.maximum(step.astype(jnp.int64), 0) + (self.last_epoch + 1)
            momentum = self._momentum_at(step)
            inside = step < limit if limit < math.inf else True
            return jnp.where(inside, momentum, jnp.nan).astype(dtype)

        return jax.jit(at, static_argnums=1)


def one_cycle_lr(
    lr: Any,
    max_lr: Any,
    total_steps: int | None = None,
    epochs: int | None = None,
    steps_per_epoch: int | None = None,
    pct_start: float = 0.3,
    anneal_strategy: Literal["cos", "linear"] = "cos",
    cycle_momentum: bool = True,
    base_momentum: Any = 0.85,
    max_momentum: Any = 0.95,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    three_phase: bool = False,
    last_epoch: int = -1,
) -> CyclicSchedule:
    """Up to `max_lr`, and down to far below the start: one cycle for the whole training.

    Args:
      lr: Not used, as in torch; the schedule starts at `max_lr / div_factor`.
      max_lr: The largest learning rate, or a list with one for each parameter group.
      total_steps: The length of the cycle.
      epochs: With `steps_per_epoch` another way to say it.
      steps_per_epoch: See there.
      pct_start: Which part of the cycle goes up; a float.
      anneal_strategy: "cos" or "linear".
      cycle_momentum: Whether there is a `.momentum`.
      base_momentum: The momentum at the largest learning rate, or a list.
      max_momentum: The momentum at the ends, or a list.
      div_factor: `max_lr` over the first learning rate.
      final_div_factor: The first learning rate over the last.
      three_phase: Up, symmetrically down, and then on to the end.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule, step -> learning rate, with `.momentum(step)`.

    Raises:
      ValueError: A setting is out of its range; or the step is after `total_steps` (under `jit`
        the learning rate is NaN then).
      ZeroDivisionError: The first phase has no length: `pct_start * total_steps` is 1.

    Example:
      >>> schedule = one_cycle_lr(0.1, max_lr=1.0, total_steps=10, div_factor=4.0)
      >>> print(schedule(0), schedule(2), schedule.momentum(2).round(6))
      0.25 1.0 0.85

    Torch: `torch.optim.lr_scheduler.OneCycleLR`.

    Differs from optax in:
      1. `optax.cosine_onecycle_schedule` has its peak at `pct_start * total_steps`, torch one step
         before, and its end at `total_steps - 1`.
    """
    steps = _total_steps(total_steps, epochs, steps_per_epoch)
    if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
        raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(
            f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
        )
    ends = [float(pct_start * steps) - 1]
    lrs, momenta = ["initial_lr", "max_lr"], ["max_momentum", "base_momentum"]
    if three_phase:
        ends.append(float(2 * pct_start * steps) - 2)
        lrs.append("initial_lr")
        momenta.append("max_momentum")
    ends.append(steps - 1)
    lrs.append("min_lr")
    momenta.append("max_momentum")
    if ends[0] == 0:
        raise ZeroDivisionError(
            f"the first phase ends at step pct_start * total_steps - 1 = {pct_start} * {steps} - 1 "
            "= 0, where it starts; choose another pct_start"
        )
    top = per_group("max_lr", max_lr, lr)
    most = per_group("max_momentum", max_momentum, lr)
    settings = dict(base_momentum=per_group("base_momentum", base_momentum, lr), max_momentum=most)

    def cycle(values: list[Any], t: Any) -> Any:
        """From each of the values to the next, while the phases pass."""
        t = jnp.asarray(t, jnp.float64)
        phases = list(zip([0.0, *ends], ends, values, values[1:], strict=False))

        def anneal(start: float, end: float, a: Any, b: Any) -> Any:
            part = quotient(t - start, end - start)
            if anneal_strategy == "linear":
                return (b - a) * part + a
            return b + (a - b) / 2.0 * (jnp.cos(math.pi * part) + 1)

        result = anneal(*phases[-1])
        for phase in reversed(phases[:-1]):
            result = jnp.where(t <= phase[1], anneal(*phase), result)
        return result

    def past(t: int) -> Exception:
        if t <= steps:
            return ZeroDivisionError(f"the last phase has no length: pct_start={pct_start}")
        return ValueError(
            f"Tried to step {t} times. The specified number of total steps is {steps}"
        )

    def make(group: Group) -> Maps:
        group["initial_lr"] = top / div_factor
        group["max_lr"] = top
        group["min_lr"] = group["initial_lr"] / final_div_factor
        return absolute(
            lambda t: cycle([group[name] for name in lrs], t),
            limit=steps if ends[-1] != ends[-2] else steps - 1,
            error=past,
        )

    def momentum(t: Any) -> Any:
        return cycle([settings[name] for name in momenta], t)

    return CyclicSchedule(lr, leaf(make), momentum if cycle_momentum else None, last_epoch)


def cyclic_lr(
    lr: Any,
    base_lr: Any,
    max_lr: Any,
    step_size_up: int = 2000,
    step_size_down: int | None = None,
    mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
    gamma: float = 1.0,
    scale_fn: Callable[[Any], Any] | None = None,
    scale_mode: Literal["cycle", "iterations"] = "cycle",
    cycle_momentum: bool = True,
    base_momentum: Any = 0.8,
    max_momentum: Any = 0.9,
    last_epoch: int = -1,
) -> CyclicSchedule:
    """Up and down in lines between two learning rates, again and again.

    Args:
      lr: Not used, as in torch; the schedule starts at `base_lr`.
      base_lr: The smallest learning rate, or a list with one for each parameter group.
      max_lr: The largest learning rate, or a list.
      step_size_up: How many steps up.
      step_size_down: How many steps down; None is as many.
      mode: "triangular", "triangular2" (half as high in each cycle) or "exp_range" (`gamma**step`).
      gamma: For "exp_range".
      scale_fn: The height instead of `mode`: a function of an int64 of shape () that JAX can trace.
      scale_mode: Whether `scale_fn` gets the number of the cycle, from 1 on, or of the step.
      cycle_momentum: Whether there is a `.momentum`.
      base_momentum: The momentum at the largest learning rate, or a list.
      max_momentum: The momentum at the smallest learning rate, or a list.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule, step -> learning rate, with `.momentum(step)`.

    Raises:
      ValueError: The mode is unknown.
      ZeroDivisionError: `step_size_up` is 0.
      TypeError: `scale_fn` is not traceable.

    Example:
      >>> schedule = cyclic_lr(0.1, base_lr=0.0, max_lr=1.0, step_size_up=4)
      >>> print(schedule(0), schedule(2), schedule(4), schedule(6))
      0.0 0.5 1.0 0.5

    Torch: `torch.optim.lr_scheduler.CyclicLR`.
    """
    up = float(step_size_up)
    down = up if step_size_down is None else float(step_size_down)
    total = up + down
    if up == 0 or total == 0:
        raise ZeroDivisionError(
            "the way up must take a step, got "
            f"step_size_up={step_size_up}, step_size_down={step_size_down}"
        )
    if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
        raise ValueError(f"mode is invalid and scale_fn is None, got mode={mode!r}")
    by_cycle = scale_mode == "cycle" if scale_fn is not None else mode != "exp_range"
    ratio = up / total
    low, high = per_group("base_lr", base_lr, lr), per_group("max_lr", max_lr, lr)
    least = per_group("base_momentum", base_momentum, lr)
    most = per_group("max_momentum", max_momentum, lr)

    def height(x: Any) -> Any:
        if scale_fn is not None:
            return traceable("scale_fn", scale_fn, x)
        if mode == "triangular":
            return 1.0
        x = jnp.asarray(x, jnp.float64)
        return 1 / 2.0 ** (x - 1) if mode == "triangular2" else jnp.power(jnp.float64(gamma), x)

    def scale(t: Any) -> tuple[Any, Any]:
        """How far up it is, between 0 and 1, and the height of this cycle."""
        t = jnp.asarray(t)
        turns = quotient(t.astype(jnp.float64), total)
        whole = t // int(total) if total == int(total) else jnp.floor(turns).astype(jnp.int64)
        cycle = 1 + whole
        x = 1.0 + turns - cycle
        rising, falling = quotient(x, ratio), quotient(x - 1, (ratio - 1) or 1.0)
        return jnp.where(x <= ratio, rising, falling), height(cycle if by_cycle else t)

    def value(t: Any) -> Any:
        part, size = scale(t)
        return low + (high - low) * part * size

    def momentum(t: Any) -> Any:
        part, size = scale(t)
        return most - (most - least) * part * size

    def build(group: Group) -> Scheduler:
        group["lr"] = group.setdefault("initial_lr", low)  # of an earlier scheduler, as in torch
        return Scheduler(absolute(value))

    return CyclicSchedule(lr, build, momentum if cycle_momentum else None, last_epoch)


def _total_steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError(
            "You must define either total_steps OR (epochs AND steps_per_epoch), "
            f"got epochs={epochs}, steps_per_epoch={steps_per_epoch}"
        )
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch
