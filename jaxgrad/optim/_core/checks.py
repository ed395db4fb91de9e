"""torch's validation of hyperparameters; errors have torch's message and the violated bound."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxgrad._core import compat
from jaxgrad._core.typing import ArrayLike, ScalarOrSchedule
from jaxgrad.optim._core.scalars import is_zero


_skipped = contextvars.ContextVar("_skipped", default=False)


@contextlib.contextmanager
def skipped() -> Iterator[None]:
    """Disable validation: torch validates constructor arguments but not per-group options."""
    before = _skipped.set(True)
    try:
        yield
    finally:
        _skipped.reset(before)


def learning_rate(
    lr: ScalarOrSchedule, text: str = "Invalid learning rate: {}", *, positive: bool = False
) -> None:
    """Require a single non-negative (or `positive`) learning rate; a schedule is not checked."""
    if callable(lr):
        return
    if np.size(lr) != 1:
        raise ValueError(f"Tensor lr must be 1-element, but its shape is {np.shape(lr)}")
    if positive:
        check("learning rate", lr, lambda x: x > 0.0, "greater than 0.0", text)
    else:
        not_negative("learning rate", lr, text)


def not_negative(name: str, x: ScalarOrSchedule, text: str | None = None) -> None:
    check(name, x, lambda x: x >= 0.0, "at least 0.0", text)


def pair(name: str, numbers: Any) -> tuple[Any, Any]:
    """Return two numbers, or raise ValueError if there are more, fewer or no sequence of them."""
    if not hasattr(numbers, "__len__") or isinstance(numbers, str) or len(numbers) != 2:
        raise ValueError(f"{name} must be two numbers, but {numbers!r} was given")
    return numbers[0], numbers[1]


def betas(betas: Any) -> None:
    for i, beta in enumerate(pair("betas", betas)):
        text = f"Invalid beta parameter at index {i}: {{}}"
        check("beta", beta, lambda b: 0.0 <= b < 1.0, "in [0.0, 1.0)", text)


def check(
    name: str, x: Any, good: Callable[[Any], bool], bound: str, text: str | None = None
) -> None:
    """Raise torch's error unless `good(x)`; schedules and traced values pass.

    Raises:
        ValueError: The value is out of range.
        TypeError: The value is not a number.
    """
    if _skipped.get() or callable(x) or compat.is_traced(x):
        return
    try:
        holds = good(x)
    except TypeError as error:
        raise TypeError(f"{name} must be a number, but got {x!r}") from error
    if not holds:
        message = (text or f"Invalid {name} value: {{}}").format(x)
        raise ValueError(f"{message} (it must be {bound})")


def nesterov(nesterov: bool, momentum: ScalarOrSchedule, dampening: ArrayLike) -> None:
    """Require a momentum and zero dampening for Nesterov momentum."""
    if nesterov and not _skipped.get() and (is_zero(momentum) or not is_zero(dampening)):
        raise ValueError(
            "Nesterov momentum requires a momentum and zero dampening: momentum is "
            f"{momentum}, dampening {dampening}"
        )


def implementation(
    foreach: bool | None = None, fused: bool | None = None, differentiable: bool = False
) -> None:
    """Reject combinations of `foreach`, `fused` and `differentiable` as torch does."""
    if _skipped.get():
        return
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
