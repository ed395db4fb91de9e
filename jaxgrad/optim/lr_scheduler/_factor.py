"""Schedules given by a function of the epoch or by milestones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._plan import (
    Group,
    LrRecursion,
    absolute,
    base_lr,
    leaf,
    loop,
    scaling,
)
from jaxgrad.optim.lr_scheduler._schedule import Rates, Schedule, as_float64, power, traceable


Lambda = Callable[[Any], Any] | Sequence[Callable[[Any], Any]]


@argument_names.checked
def lambda_lr(lr: Rates, lr_lambda: Lambda, last_epoch: int = -1) -> Schedule:
    """Multiply the initial learning rate by a function of the epoch.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        lr_lambda: Traceable function of an int64 scalar, or a list with one per parameter group.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        TypeError: `lr_lambda` is not a function, or is not traceable.
        ValueError: The number of functions is not the number of groups.

    Example:
        >>> schedule = lambda_lr(0.5, lambda epoch: 0.5 ** (epoch // 10))
        >>> print(schedule(9), schedule(10))
        0.5 0.25

    Torch: `torch.optim.lr_scheduler.LambdaLR`.
    """
    _check_lambda(lr, lr_lambda)

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)
        return absolute(lambda t: base * traceable("lr_lambda", lr_lambda, t))

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def multiplicative_lr(lr: Rates, lr_lambda: Lambda, last_epoch: int = -1) -> Schedule:
    """Multiply the learning rate by a function of the epoch, in every epoch.

    The product has no closed form: step n runs a device loop that calls the function n times.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        lr_lambda: Traceable function of an int64 scalar, or a list with one per parameter group.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        TypeError: `lr_lambda` is not a function, or is not traceable.
        ValueError: The number of functions is not the number of groups.

    Example:
        >>> schedule = multiplicative_lr(1.0, lambda epoch: 0.5)
        >>> print(schedule(3))
        0.125

    Torch: `torch.optim.lr_scheduler.MultiplicativeLR`.
    """
    _check_lambda(lr, lr_lambda)

    def make(group: Group) -> LrRecursion:
        base_lr(group)

        def times(i: Any, x: Any) -> Any:
            return x * traceable("lr_lambda", lr_lambda, i)

        return LrRecursion(
            step=lambda x, t: times(t, x),
            run=lambda x, s, t: loop(s + 1, t + 1, times, x),
            first=lambda x: x,
            reset=lambda x: times(0, x),
            kind="scaling",
        )

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def step_lr(lr: Rates, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> Schedule:
    """Multiply the learning rate by `gamma` every `step_size` epochs.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        step_size: Number of epochs between two decays.
        gamma: Multiplicative factor of the decay.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: `step_size` is 0.

    Example:
        >>> schedule = step_lr(1.0, step_size=41, gamma=0.5)
        >>> print(schedule(40), schedule(41), schedule(123))
        1.0 0.5 0.125

    Torch: `torch.optim.lr_scheduler.StepLR`.

    Differs from optax in:
        1. `optax.exponential_decay(staircase=True)` takes the floor of a float quotient, which is
           wrong at some multiples of 41, 47 and other numbers.
    """
    if step_size == 0:
        raise ValueError("step_size must not be 0, got 0: the epoch is taken modulo step_size")
    period = abs(Fraction(step_size).numerator)  # for 2.5, multiples of 5

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            return x * power(gamma, jnp.maximum(t, 0) // period - jnp.maximum(s, 0) // period)

        return scaling(run, reset=lambda: base)

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def multi_step_lr(
    lr: Rates, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
) -> Schedule:
    """Multiply the learning rate by `gamma` at every milestone.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        milestones: Epochs in any order; an epoch listed n times multiplies n times.
        gamma: Multiplicative factor of the decay.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Example:
        >>> schedule = multi_step_lr(1.0, milestones=[30, 80, 80], gamma=0.5)
        >>> print(schedule(29), schedule(30), schedule(80))
        1.0 0.5 0.125

    Torch: `torch.optim.lr_scheduler.MultiStepLR`.
    """
    if not isinstance(milestones, Iterable):
        raise TypeError(f"milestones must be a list of epochs, but got {milestones!r}")
    ordered = sorted(milestones)
    whole = [int(m) for m in ordered if m == int(m)]  # a milestone of 30.5 is never reached

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)

        def run(x: Any, s: Any, t: Any) -> Any:
            passed = jnp.asarray(whole, jnp.int64)
            return x * power(gamma, jnp.sum((passed > s) & (passed <= t)))

        return scaling(
            run,
            first=lambda x: run(x, -1, 0),
            reset=lambda: base * float(gamma) ** bisect_right(ordered, 0),
            end=max(whole, default=0),
        )

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def _check_lambda(lr: Rates, lr_lambda: Any) -> None:
    several = isinstance(lr_lambda, (list, tuple))
    for one in lr_lambda if several else [lr_lambda]:
        if not callable(one):
            raise TypeError(f"lr_lambda should be a function, but got {type(one).__name__}")
    lrs = as_float64(lr)
    if several and lrs.ndim and len(lr_lambda) != len(lrs):
        raise ValueError(f"Expected {len(lrs)} lr_lambdas, but got {len(lr_lambda)}")
