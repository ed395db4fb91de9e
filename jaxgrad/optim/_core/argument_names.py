"""Errors for arguments that a factory does not have, which name torch's."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar


P = ParamSpec("P")
R = TypeVar("R")

# Arguments of optax's optimizers, and what torch calls them.
_IN_OPTAX = {
    "learning_rate": ("lr", "lr"),
    "b1": ("betas", "betas=(b1, b2)"),
    "b2": ("betas", "betas=(b1, b2)"),
    "decay": ("alpha", "alpha"),
    "decay_rate": ("alpha", "alpha"),
}


def checked(factory: Callable[P, R]) -> Callable[P, R]:
    """Make a factory reject an unknown keyword argument and suggest torch's name for it."""

    @functools.wraps(factory)
    def make(*args: P.args, **kwargs: P.kwargs) -> R:
        check(factory, kwargs)
        return factory(*args, **kwargs)

    return make


def check(factory: Callable[..., Any], names: Iterable[str], *more: str) -> None:
    """Raise TypeError if a factory lacks an argument.

    Args:
        factory: The factory of an optimizer.
        names: The names of the arguments.
        *more: Further names that are accepted.
    """
    parameters = inspect.signature(factory).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    known = [*parameters, *more]
    for name in names:
        if name not in known:
            label = getattr(factory, "__name__", "the factory")
            raise TypeError(f"{label}() has no argument {name}{_hint(name, known)}")


def _hint(name: str, known: list[str]) -> str:
    argument, text = _IN_OPTAX.get(name, ("", ""))
    if argument in known:
        return f"; torch's name is {text}"
    if name == "params":
        return ": the parameters are arguments of init, update and step"
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known)}"
