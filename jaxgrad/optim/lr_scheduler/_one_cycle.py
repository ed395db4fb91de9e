"""The one-cycle policy for learning rate and momentum."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._cyclic import CyclicSchedule
from jaxgrad.optim.lr_scheduler._plan import Group, LrRecursion, absolute, leaf
from jaxgrad.optim.lr_scheduler._schedule import Rates, per_group, quotient


@argument_names.checked
def one_cycle_lr(
    lr: Rates,
    max_lr: Rates,
    total_steps: int | None = None,
    epochs: int | None = None,
    steps_per_epoch: int | None = None,
    pct_start: float = 0.3,
    anneal_strategy: Literal["cos", "linear"] = "cos",
    cycle_momentum: bool = True,
    base_momentum: Rates = 0.85,
    max_momentum: Rates = 0.95,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
    three_phase: bool = False,
    last_epoch: int = -1,
) -> CyclicSchedule:
    """One-cycle policy: rise to `max_lr`, then fall far below the initial learning rate.

    Args:
        lr: Ignored, as in torch; the schedule starts at `max_lr / div_factor`.
        max_lr: Maximum learning rate, or a list with one per parameter group.
        total_steps: Number of steps in the cycle.
        epochs, steps_per_epoch: Alternative to `total_steps`, which is their product.
        pct_start: Fraction of the cycle in which the learning rate rises, a float.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: Whether to provide `.momentum`.
        base_momentum: Momentum at the maximum learning rate, or a list.
        max_momentum: Momentum at the start and the end, or a list.
        div_factor: `max_lr` divided by the initial learning rate.
        final_div_factor: The initial learning rate divided by the final one.
        three_phase: Return symmetrically to the initial learning rate before the final phase.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate` with a `.momentum(step)`.

    Raises:
        ValueError: A setting is out of range, or the step is after `total_steps` (under `jit` the
            learning rate is NaN instead).
        ZeroDivisionError: The first phase is empty, because `pct_start * total_steps` is 1.

    Example:
        >>> schedule = one_cycle_lr(0.1, max_lr=1.0, total_steps=10, div_factor=4.0)
        >>> print(schedule(0), schedule(2), schedule.momentum(2).round(6))
        0.25 1.0 0.85

    Torch: `torch.optim.lr_scheduler.OneCycleLR`.

    Differs from optax in:
        1. `optax.cosine_onecycle_schedule` peaks at `pct_start * total_steps`; torch peaks one step
           earlier, and ends at `total_steps - 1`.
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
        """Interpolate from each value to the next, one phase per pair."""
        t = jnp.asarray(t, jnp.float64)
        phases = list(zip([0.0, *ends], ends, values, values[1:], strict=False))

        def anneal(start: float, end: float, a: Any, b: Any) -> Any:
            done = quotient(t - start, end - start)
            if anneal_strategy == "linear":
                return (b - a) * done + a
            return b + (a - b) / 2.0 * (jnp.cos(math.pi * done) + 1)

        result = anneal(*phases[-1])
        for phase in reversed(phases[:-1]):
            result = jnp.where(t <= phase[1], anneal(*phase), result)
        return result

    def past(t: int) -> Exception:
        if t <= steps:
            return ZeroDivisionError(f"the last phase is empty: pct_start={pct_start}")
        return ValueError(
            f"Tried to step {t} times. The specified number of total steps is {steps}"
        )

    def make(group: Group) -> LrRecursion:
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
