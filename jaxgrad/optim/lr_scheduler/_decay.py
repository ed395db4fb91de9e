"""Schedules that multiply the learning rate: for a while, to an end, or for ever."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from jaxgrad.optim.lr_scheduler._plan import Group, Maps, base_lr, leaf, scaling
from jaxgrad.optim.lr_scheduler._schedule import Schedule, power, quotient


def constant_lr(
    lr: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
) -> Schedule:
    """The learning rate times `factor`, and from epoch `total_iters` on without it.

    Args:
      lr: The initial learning rate, or a list with one for each parameter group.
      factor: Between 0 and 1.
      total_iters: The first epoch without the factor. With 0 or less the factor stays, as in torch.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule: step -> learning rate.

    Raises:
      ValueError: `factor` is not between 0 and 1.
      ZeroDivisionError: When the schedule comes to `total_iters` and `factor` is 0, as in torch.

    Example:
      >>> schedule = constant_lr(1.0, factor=0.5, total_iters=4)
      >>> print(schedule(3), schedule(4))
      0.5 1.0

    Torch: `torch.optim.lr_scheduler.ConstantLR`.
    """
    if factor > 1.0 or factor < 0:
        raise ValueError(
            f"Constant multiplicative factor expected to be between 0 and 1. Got factor={factor}"
        )
    returns = total_iters >= 1 and total_iters == int(total_iters)
    inverse = 1.0 / factor if factor else 0.0

    def make(group: Group) -> Maps:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            x = x * jnp.where((s < 0) & (t >= 0), factor, 1.0)
            if returns:
                x = x * jnp.where((s < total_iters) & (t >= total_iters), inverse, 1.0)
            return x

        return scaling(
            run,
            first=lambda x: x * factor,
            reset=lambda: base * (factor + (total_iters <= 0) * (1 - factor)),
            end=total_iters if returns else 0,
            limit=total_iters - 1 if returns and factor == 0 else math.inf,
            error=lambda _: ZeroDivisionError(
                f"float division by zero: at epoch total_iters={total_iters} the learning rate is "
                f"divided by factor={factor}"
            ),
        )

    return Schedule(lr, leaf(make), last_epoch)


def linear_lr(
    lr: Any,
    start_factor: float = 1.0 / 3,
    end_factor: float = 1.0,
    total_iters: int = 5,
    last_epoch: int = -1,
) -> Schedule:
    """The learning rate times a factor that goes from `start_factor` to `end_factor` in a line.

    Args:
      lr: The initial learning rate, or a list with one for each parameter group.
      start_factor: The factor of epoch 0; above 0, at most 1.
      end_factor: The factor from epoch `total_iters` on; between 0 and 1.
      total_iters: The length of the line. With 0 or less `start_factor` stays, as in torch.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule: step -> learning rate.

    Raises:
      ValueError: A factor is out of its range.

    Example:
      >>> schedule = linear_lr(1.0, start_factor=0.5, total_iters=4)
      >>> print(schedule(0), schedule(2), schedule(4))
      0.5 0.75 1.0

    Torch: `torch.optim.lr_scheduler.LinearLR`.
    """
    if start_factor > 1.0 or start_factor <= 0:
        raise ValueError(
            "Starting multiplicative factor expected to be greater than 0 and less or equal to 1. "
            f"Got start_factor={start_factor}"
        )
    if end_factor > 1.0 or end_factor < 0:
        raise ValueError(
            "Ending multiplicative factor expected to be between 0 and 1. "
            f"Got end_factor={end_factor}"
        )
    end = max(math.floor(total_iters), 0)
    slope = end_factor - start_factor
    # torch's last step, in Python: where the end is 0, what it leaves is rounding and nothing else
    arrival = 1.0 + slope / (total_iters * start_factor + (end - 1) * slope) if end else 1.0

    def make(group: Group) -> Maps:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            x = x * jnp.where((s < 0) & (t >= 0), start_factor, 1.0)
            s, t = jnp.clip(s, 0, end), jnp.clip(t, 0, end)
            before, last = (total_iters * start_factor + e * slope for e in (s, t - 1))
            after = last * jnp.where(t == end, arrival, 1.0 + slope / last)
            return x * jnp.where(s == t, 1.0, quotient(after, before))

        return scaling(
            run,
            first=lambda x: x * start_factor,
            reset=lambda: base * (start_factor + slope * min(total_iters, 0) / total_iters),
            end=end,
        )

    return Schedule(lr, leaf(make), last_epoch)


def exponential_lr(lr: Any, gamma: float, last_epoch: int = -1) -> Schedule:
    """In every epoch the learning rate is multiplied by `gamma`.

    Args:
      lr: The initial learning rate, or a list with one for each parameter group.
      gamma: The factor.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule: step -> learning rate.

    Example:
      >>> print(exponential_lr(1.0, gamma=0.5)(3))
      0.125

    Torch: `torch.optim.lr_scheduler.ExponentialLR`.
    """

    def make(group: Group) -> Maps:
        base = base_lr(group)
        return scaling(lambda x, s, t: x * power(gamma, t - s), reset=lambda: base)

    return Schedule(lr, leaf(make), last_epoch)


def polynomial_lr(
    lr: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
) -> Schedule:
    """The learning rate falls to 0 in `total_iters` epochs, as a power of what is left of them.

    Args:
      lr: The initial learning rate, or a list with one for each parameter group.
      total_iters: How many epochs until 0. With 0 or less nothing happens, as in torch.
      power: The exponent.
      last_epoch: The schedule starts at epoch `last_epoch + 1`.

    Returns:
      A schedule: step -> learning rate.

    Example:
      >>> schedule = polynomial_lr(1.0, total_iters=4, power=2.0)
      >>> print(schedule(2), schedule(4), schedule(5))
      0.25 0.0 0.0

    Torch: `torch.optim.lr_scheduler.PolynomialLR`.
    """
    end = max(math.floor(total_iters), 0)

    def make(group: Group) -> Maps:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            s, t = jnp.minimum(s, end), jnp.minimum(t, end)
            if total_iters <= 0:
                return x
            before, after = (1.0 - quotient(e, total_iters) for e in (s, t))
            return x * jnp.where(s == t, 1.0, jnp.power(quotient(after, before), power))

        def reset() -> Any:
            return base * (1.0 - min(total_iters, 0) / total_iters) ** power

        return scaling(run, reset=reset, end=end)

    return Schedule(lr, leaf(make), last_epoch)
