"""Variants of the torch training loop with numbers that the port's optimizer contains."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from torch import nn

from jaxgrad.parity.prove.record.torch_side import loop, schedulers
from jaxgrad.parity.prove.record.torch_side.variants import (
    Clip,
    Variant,
    clip_as_optax,
    with_schedule,
    with_settings,
)
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.wording import Difference, InJax, Setting, Told


_OF_THE_LOOP = frozenset({"last_epoch"})


def clips(training: Training, numbers: Sequence[float]) -> Iterator[Variant]:
    """Yield other maximum norms of the gradients."""
    clip = nn.utils.clip_grad_norm_
    own = training.clip if isinstance(training.clip, float | int) else None
    for number in numbers:
        if number > 0 and number != own:
            text = _norm(number, own)
            for by_norm in (clip_as_optax, clip):
                yield Variant(text, training, functools.partial(_clip_to, by_norm, number))


def value_clips(training: Training, numbers: Sequence[float]) -> Iterator[Variant]:
    """Yield clipping by value where torch clips by norm, and the reverse.

    Norms of the port that are no maximum in torch are tried where torch clips by value.
    """
    clip = nn.utils.clip_grad_value_
    for number in (x for x in numbers if x > 0):
        text = Told(
            f"the gradients are clipped by value to {number:g}, torch clips them by norm",
            f"the gradients are clipped by norm, JAX clips them by value to {number:g}",
        )
        yield Variant(text, training, functools.partial(_clip_to, clip, number))
        text = Told(
            f"the gradients are clipped by norm to {number:g}, torch clips them by value",
            f"the gradients are clipped by value, JAX clips them by norm to {number:g}",
        )
        for by_norm in (nn.utils.clip_grad_norm_, clip_as_optax):
            changed = functools.partial(_clip_to, by_norm, number)
            yield Variant(text, training, changed, of_values=True)


def _clip_to(clip: Clip, number: float, parameters: Any, *_: Any, **__: Any) -> Any:
    """Clip to another number than the one that is given."""
    return clip(parameters, number)


def _norm(jax: float, torch: float | None) -> Difference:
    clipped = "the gradients are clipped to the norm"
    if torch is None:
        return InJax(f"{clipped} {jax:g}, torch clips to another norm")
    return Told(
        f"{clipped} {jax:g}, torch's is {torch:g}", f"{clipped} {torch:g}, JAX's is {jax:g}"
    )


def settings(training: Training, module: nn.Module, numbers: Sequence[float]) -> Iterator[Variant]:
    """Yield other numbers for the settings of torch's optimizer."""
    own = next(iter(loop.settings(training, module).values()), {})
    for name, value in own.items():
        pair = isinstance(value, tuple | list)
        for k, used in enumerate(value if pair else [value]):
            if not _is_real(used) or name in ("lr", "weight_decay"):
                continue
            label = f"beta{k + 1}" if name == "betas" else f"{name}[{k}]" if pair else name
            for number in (x for x in numbers if x != used and (name != "betas" or 0 <= x < 1)):
                new = _changed(k, number) if pair else number
                text = Setting(label, f"{number:g}", f"{used:g}")
                yield Variant(text, with_settings(training, **{name: new}))


def _changed(k: int, number: float) -> Any:
    return lambda old: (*old[:k], number, *old[k + 1 :])


def schedules(training: Training, module: nn.Module, numbers: Sequence[float]) -> Iterator[Variant]:
    """Yield variants of torch's scheduler in which one setting has another number."""
    if training.scheduler is None:
        return
    make = training.scheduler
    optimizer = loop.build_optimizer(training.torch, module)
    rates = [float(group["lr"]) for group in optimizer.param_groups if group["lr"]]
    factors = [*rates, *(1 / rate for rate in rates)]  # a rate, or its part of the first one
    numbers = [*numbers, *(float(f"{x * r:.7g}") for x in numbers for r in factors)]
    for part in schedulers.parts(make, optimizer):
        for name, used in part.arguments.items():
            if name in _OF_THE_LOOP or not _is_real(used):
                continue
            for number in dict.fromkeys(numbers):
                whole = isinstance(used, int) and used != 0
                if number == used or (whole and (number % 1 or not number)):
                    continue
                new = int(number) if whole else number
                text = Setting(f"{name} of the schedule", f"{new:g}", f"{used:g}")
                changed = schedulers.changed(make, part, name, new)
                yield with_schedule(text, training, changed)


def _is_real(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
