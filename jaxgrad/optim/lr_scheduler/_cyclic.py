"""Cyclical learning rate and momentum."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._plan import Group, Scheduler, absolute
from jaxgrad.optim.lr_scheduler._schedule import Rates, Schedule, per_group, quotient, traceable


class CyclicSchedule(Schedule):
    """A learning rate schedule with a `.momentum` (or first beta) that moves inversely to it."""

    takes_lr = False

    def __init__(self, lr: Any, build: Any, momentum: Any, last_epoch: int) -> None:
        super().__init__(lr, build, last_epoch)
        self._momentum_at = momentum

    def momentum(self, step: Any) -> jax.Array:
        """Return the momentum (SGD, RMSprop) or first beta (Adam) at a step.

        Returns:
            A float of shape (), or one per parameter group; `step` is as for the schedule itself.

        Raises:
            ValueError: The schedule was created with `cycle_momentum=False`.
        """
        if self._momentum_at is None:
            raise ValueError("there is no momentum to cycle, because cycle_momentum=False")
        self._raise_where_torch_does(step)
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


@argument_names.checked
def cyclic_lr(
    lr: Rates,
    base_lr: Rates,
    max_lr: Rates,
    step_size_up: int = 2000,
    step_size_down: int | None = None,
    mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
    gamma: float = 1.0,
    scale_fn: Callable[[Any], Any] | None = None,
    scale_mode: Literal["cycle", "iterations"] = "cycle",
    cycle_momentum: bool = True,
    base_momentum: Rates = 0.8,
    max_momentum: Rates = 0.9,
    last_epoch: int = -1,
) -> CyclicSchedule:
    """Cyclical learning rate: rises and falls linearly between two bounds.

    Args:
        lr: Ignored, as in torch; the schedule starts at `base_lr`.
        base_lr: Minimum learning rate, or a list with one per parameter group.
        max_lr: Maximum learning rate, or a list.
        step_size_up: Number of rising steps per cycle.
        step_size_down: Number of falling steps per cycle; by default `step_size_up`.
        mode: "triangular", "triangular2" (halves the amplitude in every cycle) or "exp_range"
            (multiplies it by `gamma**step`).
        gamma: Decay rate of the amplitude for "exp_range".
        scale_fn: Custom amplitude, used instead of `mode`: a traceable function of an int64 scalar.
        scale_mode: Whether `scale_fn` takes the cycle number (from 1) or the step.
        cycle_momentum: Whether to provide `.momentum`.
        base_momentum: Momentum at the maximum learning rate, or a list.
        max_momentum: Momentum at the minimum learning rate, or a list.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate` with a `.momentum(step)`.

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
            "a cycle must have rising steps, got "
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
        """Return the position between the bounds, from 0 to 1, and the amplitude."""
        t = jnp.asarray(t)
        cycles = quotient(t.astype(jnp.float64), total)
        whole = t // int(total) if total == int(total) else jnp.floor(cycles).astype(jnp.int64)
        cycle = 1 + whole
        x = 1.0 + cycles - cycle
        rising, falling = quotient(x, ratio), quotient(x - 1, (ratio - 1) or 1.0)
        return jnp.where(x <= ratio, rising, falling), height(cycle if by_cycle else t)

    def value(t: Any) -> Any:
        rise, size = scale(t)
        return low + (high - low) * rise * size

    def momentum(t: Any) -> Any:
        rise, size = scale(t)
        return most - (most - least) * rise * size

    def build(group: Group) -> Scheduler:
        group["lr"] = group.setdefault("initial_lr", low)  # an earlier scheduler may have set it
        return Scheduler(absolute(value))

    return CyclicSchedule(lr, build, momentum if cycle_momentum else None, last_epoch)
