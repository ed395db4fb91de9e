"""torch's checks of hyperparameters, in its words and with both values."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxgrad._core import compat
from jaxgrad.optim._core.scalars import is_zero


_of_a_group = contextvars.ContextVar("_of_a_group", default=False)


@contextlib.contextmanager
def of_a_group() -> Iterator[None]:
    """torch's constructors check their own arguments; what a group says they take as it is."""
    before = _of_a_group.set(True)
    try:
        yield
    finally:
        _of_a_group.reset(before)


def learning_rate(
    lr: Any, text: str = "Invalid learning rate: {}", *, positive: bool = False
) -> None:
    """A learning rate is not negative; a schedule is checked by whoever wrote it."""
    if callable(lr):
        return
    if np.size(lr) != 1:
        raise ValueError(f"Tensor lr must be 1-element, but its shape is {np.shape(lr)}")
    if positive:
        check("learning rate", lr, lambda x: x > 0.0, "greater than 0.0", text)
    else:
        not_negative("learning rate", lr, text)


def not_negative(name: str, x: Any, text: str | None = None) -> None:
    check(name, x, lambda x: x >= 0.0, "at least 0.0", text)


def betas(betas: Any) -> None:
    if len(betas) != 2:
        raise ValueError(f"betas are two numbers, but {betas} was given")
    for i, beta in enumerate(betas):
        text = f"Invalid beta parameter at index {i}: {{}}"
        check("beta", beta, lambda b: 0.0 <= b < 1.0, "in [0.0, 1.0)", text)


def check(
    name: str, x: Any, good: Callable[[Any], bool], bound: str, text: str | None = None
) -> None:
    """Raise torch's error unless `good(x)`; what is traced has no value yet and passes."""
    if not _of_a_group.get() and not compat.is_traced(x) and not good(x):
        shown = (text or f"Invalid {name} value: {{}}").format(x)
        raise ValueError(f"{shown} (it must be {bound})")


def nesterov(nesterov: bool, momentum: Any, dampening: Any) -> None:
    """Nesterov's momentum looks ahead along a buffer that is not dampened."""
    if nesterov and not _of_a_group.get() and (is_zero(momentum) or not is_zero(dampening)):
        raise ValueError(
            "Nesterov momentum requires a momentum and zero dampening: momentum is "
            f"{momentum}, dampening {dampening}"
        )


def implementation(
    foreach: bool | None = None, fused: bool | None = None, differentiable: bool = False
) -> None:
    """The choices of implementation that torch refuses together; none of them has an effect."""
    if _of_a_group.get():
        return
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
