"""Constant, linear, exponential and polynomial decay of the learning rate."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._plan import Group, LrRecursion, base_lr, leaf, scaling
from jaxgrad.optim.lr_scheduler._schedule import Rates, Schedule, power, quotient


@argument_names.checked
def constant_lr(
    lr: Rates, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
) -> Schedule:
    """Multiply the learning rate by `factor` until epoch `total_iters`.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        factor: Multiplier, between 0 and 1.
        total_iters: First epoch without the factor; as in torch, 0 or less keeps the factor.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: `factor` is not between 0 and 1.
        ZeroDivisionError: The step is `total_iters` or later, and `factor` is 0, as in torch.

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
    ends = total_iters >= 1 and total_iters == int(total_iters)
    inverse = 1.0 / factor if factor else 0.0

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            x = x * jnp.where((s < 0) & (t >= 0), factor, 1.0)
            if ends:
                x = x * jnp.where((s < total_iters) & (t >= total_iters), inverse, 1.0)
            return x

        return scaling(
            run,
            first=lambda x: x * factor,
            reset=lambda: base * (factor + (total_iters <= 0) * (1 - factor)),
            end=total_iters if ends else 0,
            limit=total_iters - 1 if ends and factor == 0 else math.inf,
            error=lambda _: ZeroDivisionError(
                f"float division by zero: at epoch total_iters={total_iters} the learning rate is "
                f"divided by factor={factor}"
            ),
        )

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def linear_lr(
    lr: Rates,
    start_factor: float = 1.0 / 3,
    end_factor: float = 1.0,
    total_iters: int = 5,
    last_epoch: int = -1,
) -> Schedule:
    """Multiply the learning rate by a factor that changes linearly.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        start_factor: Factor at epoch 0, positive and at most 1.
        end_factor: Factor from epoch `total_iters` on, between 0 and 1.
        total_iters: Epochs over which the factor changes; 0 or less keeps `start_factor`.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: A factor is out of range.

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
    # torch's last factor, computed in Python because for end_factor=0 it is only rounding error
    arrival = 1.0 + slope / (total_iters * start_factor + (end - 1) * slope) if end else 1.0

    def make(group: Group) -> LrRecursion:
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


@argument_names.checked
def exponential_lr(lr: Rates, gamma: float, last_epoch: int = -1) -> Schedule:
    """Multiply the learning rate by `gamma` in every epoch.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        gamma: Multiplicative factor of the decay.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Example:
        >>> print(exponential_lr(1.0, gamma=0.5)(3))
        0.125

    Torch: `torch.optim.lr_scheduler.ExponentialLR`.
    """

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)
        return scaling(lambda x, s, t: x * power(gamma, t - s), reset=lambda: base)

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def polynomial_lr(
    lr: Rates, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
) -> Schedule:
    """Polynomial decay of the learning rate to 0 in `total_iters` epochs.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        total_iters: Number of epochs until 0; as in torch, 0 or less leaves `lr` unchanged.
        power: Exponent of the polynomial.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Example:
        >>> schedule = polynomial_lr(1.0, total_iters=4, power=2.0)
        >>> print(schedule(2), schedule(4), schedule(5))
        0.25 0.0 0.0

    Torch: `torch.optim.lr_scheduler.PolynomialLR`.
    """
    end = max(math.floor(total_iters), 0)

    def make(group: Group) -> LrRecursion:
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
