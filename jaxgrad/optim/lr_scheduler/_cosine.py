"""Cosine annealing, warm restarts, and SWALR (for stochastic weight averaging)."""

from __future__ import annotations

import math
from typing import Any, Literal

import jax.numpy as jnp

from jaxgrad._core import argument_names
from jaxgrad.optim.lr_scheduler._plan import Group, LrRecursion, absolute, base_lr, leaf
from jaxgrad.optim.lr_scheduler._schedule import Rates, Schedule, per_group, quotient


@argument_names.checked
def cosine_annealing_lr(
    lr: Rates,
    T_max: int,  # noqa: N803  # torch's name
    eta_min: float = 0.0,
    last_epoch: int = -1,
) -> Schedule:
    """Cosine annealing: down to `eta_min` in `T_max` epochs, then up again, periodically.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        T_max: Number of epochs in half a period.
        eta_min: Minimum learning rate.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: `T_max` is 0.

    Example:
        >>> schedule = cosine_annealing_lr(1.0, T_max=10)
        >>> print(schedule(0), schedule(10), schedule(20).round(6))
        1.0 0.0 1.0

    Torch: `torch.optim.lr_scheduler.CosineAnnealingLR`.

    Differs from optax in:
        1. `optax.cosine_decay_schedule` stays at its final value; torch goes up again.
        2. In a chain, the distance to `eta_min` is scaled, not the learning rate.
    """
    if T_max == 0:
        raise ValueError("T_max must not be 0, got 0: the epoch is divided by T_max")
    whole = T_max == int(T_max)  # otherwise no epoch falls exactly on the minimum
    half = max(abs(int(T_max)), 1)

    def above(t: Any) -> Any:
        return 1 + jnp.cos(quotient(math.pi * jnp.asarray(t, jnp.float64), T_max))

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)
        lift = (base - eta_min) * (1 - math.cos(math.pi / T_max)) / 2

        def scaled(x: Any, s: Any, t: Any) -> Any:
            return above(t) / above(s) * (x - eta_min) + eta_min

        def step(x: Any, t: Any) -> Any:
            lifted = (t - 1 - half) % (2 * half) == 0
            return jnp.where(whole & lifted, x + lift, scaled(x, t - 1, t))

        def run(x: Any, s: Any, t: Any) -> Any:
            if not whole:
                return jnp.where(s == t, x, scaled(x, s, t))
            # epoch of the last minimum; negative before the first one
            bottom = half + 2 * half * ((t - half) // (2 * half))
            passed = bottom > s
            x, s = jnp.where(passed, eta_min, x), jnp.where(passed, bottom, s)
            here, lifted = s == t, s == bottom
            x, s = jnp.where(lifted & ~here, x + lift, x), jnp.where(lifted, s + 1, s)
            return jnp.where(here | (s == t), x, scaled(x, s, t))

        def reset(x: Any) -> Any:
            del x
            return eta_min + (base - eta_min) * (1 + math.cos(0.0)) / 2

        return LrRecursion(step=step, run=run, first=lambda x: x, reset=reset, kind="affine")

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def cosine_annealing_warm_restarts(
    lr: Rates,
    T_0: int,  # noqa: N803  # torch's name
    T_mult: int = 1,  # noqa: N803  # torch's name
    eta_min: int | float = 0.0,
    last_epoch: int = -1,
) -> Schedule:
    """Cosine annealing with warm restarts.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        T_0: Number of epochs until the first restart.
        T_mult: Ratio of each period's length to the previous one's.
        eta_min: Minimum learning rate.
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: `T_0` or `T_mult` is not a positive integer, or `eta_min` is not a number.

    Example:
        >>> schedule = cosine_annealing_warm_restarts(1.0, T_0=10, T_mult=2)
        >>> print(schedule(5).round(6), schedule(10), schedule(20).round(6), schedule(30))
        0.5 1.0 0.5 1.0

    Torch: `torch.optim.lr_scheduler.CosineAnnealingWarmRestarts`.
    """
    if T_0 <= 0 or not isinstance(T_0, int):
        raise ValueError(f"Expected positive integer T_0, but got {T_0}")
    if T_mult < 1 or not isinstance(T_mult, int):
        raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
    if not isinstance(eta_min, (float, int)):
        raise ValueError(
            f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
        )
    starts, periods = [0], [T_0]
    while T_mult > 1 and starts[-1] + periods[-1] < 2**62:
        starts.append(starts[-1] + periods[-1])
        periods.append(periods[-1] * T_mult)

    def since(t: Any) -> tuple[Any, Any]:
        """Return the epochs since the last restart, and the length of the current period."""
        if T_mult == 1:
            return t % T_0, T_0
        begun = jnp.sum(jnp.asarray(starts, jnp.int64) <= t) - 1
        return t - jnp.asarray(starts)[begun], jnp.asarray(periods, jnp.float64)[begun]

    def make(group: Group) -> LrRecursion:
        base = base_lr(group)

        def value(t: Any) -> Any:
            t_cur, t_i = since(t)
            angle = quotient(math.pi * jnp.asarray(t_cur, jnp.float64), t_i)
            return eta_min + (base - eta_min) * (1 + jnp.cos(angle)) / 2

        return absolute(value)

    return Schedule(lr, leaf(make), last_epoch)


@argument_names.checked
def swalr(
    lr: Rates,
    swa_lr: Rates,
    anneal_epochs: int = 10,
    anneal_strategy: Literal["cos", "linear"] = "cos",
    last_epoch: int = -1,
) -> Schedule:
    """Anneal the learning rate to `swa_lr` over `anneal_epochs`, then keep it.

    Args:
        lr: Initial learning rate, or a list with one per parameter group.
        swa_lr: Final learning rate, or a list with one per parameter group.
        anneal_epochs: Length of the annealing; with 0, `swa_lr` applies from the start.
        anneal_strategy: "cos" or "linear".
        last_epoch: Index of the last epoch done; the schedule starts at `last_epoch + 1`.

    Returns:
        A schedule `step -> learning rate`.

    Raises:
        ValueError: The strategy is unknown, or `anneal_epochs` is negative.

    Example:
        >>> schedule = swalr(1.0, swa_lr=0.5, anneal_epochs=4, anneal_strategy="linear")
        >>> print(schedule(0), schedule(2), schedule(4), schedule(5))
        1.0 0.75 0.5 0.5

    Torch: `torch.optim.swa_utils.SWALR`.
    """
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(
            f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
        )
    if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
        raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
    final = per_group("swa_lr", swa_lr, lr)

    def alpha(t: Any) -> Any:
        done = quotient(jnp.clip(t, 0, anneal_epochs) * 1.0, max(1, anneal_epochs))
        return done if anneal_strategy == "linear" else (1 - jnp.cos(math.pi * done)) / 2

    def make(group: Group) -> LrRecursion:
        base_lr(group)
        group["swa_lr"] = final  # as in torch, the last SWALR sets it for all

        def run(x: Any, s: Any, t: Any) -> Any:
            a, b, swa = alpha(s), alpha(t), group["swa_lr"]
            origin = (x - a * swa) / jnp.where(a == 1, 1.0, 1 - a)  # unused once a is 1
            return jnp.where(s == t, x, swa * b + origin * (1 - b))

        def first(x: Any) -> Any:
            return x if anneal_epochs else group["swa_lr"]

        def constant(x: Any, *_: Any) -> Any:
            del x
            return group["swa_lr"]

        return LrRecursion(
            step=(lambda x, t: run(x, t - 1, t)) if anneal_epochs else constant,
            run=run if anneal_epochs else constant,
            first=first,
            reset=first,
            kind="affine",
            is_invertible=False,  # SWALR counts calls, not epochs
        )

    return Schedule(lr, leaf(make), last_epoch)
