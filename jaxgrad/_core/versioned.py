"""A package whose functions and classes are bound to one version of torch."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from jaxgrad._core import suggestions


@dataclasses.dataclass(frozen=True)
class Versioned:
    """The names of a package, bound to one version of torch: those that take `torch=` have it."""

    torch: str
    module: str

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            value = getattr(sys.modules[self.module], name)
        except AttributeError:
            raise AttributeError(
                f"{self.module} has no {name!r}{suggestions.near(name, dir(self))}"
            ) from None
        if isinstance(value, ModuleType):
            return Versioned(self.torch, value.__name__)
        return _bound(value, self.torch) if callable(value) else value

    def __dir__(self) -> list[str]:
        return [name for name in dir(sys.modules[self.module]) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<{self.module} as in torch {self.torch}>"


@functools.cache
def _bound(function: Callable[..., Any], torch: str) -> Callable[..., Any]:
    """Return the function or class with `torch=` bound if it takes it; always the same object."""
    if "torch" not in _parameters(function):
        return function
    bound = functools.partial(function, torch=torch)
    # Without `__wrapped__`, so that the signature has the bound version as the default.
    for name in functools.WRAPPER_ASSIGNMENTS:
        if hasattr(function, name):
            setattr(bound, name, getattr(function, name))
    return bound


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    # The signature of a flax class is that of its metaclass.
    target: Any = function.__init__ if inspect.isclass(function) else function
    try:
        return inspect.signature(target).parameters
    except ValueError:  # some classes have none
        return {}
