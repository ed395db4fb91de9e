"""Settings that a module sets on itself while it runs, such as `self.shift = 0`."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import nn


_MISSING = object()


@dataclasses.dataclass
class Settings:
    """The attributes of modules that a run has read, and the first values of those it has set."""

    read: set[tuple[nn.Module, str]] = dataclasses.field(default_factory=set)
    before: dict[tuple[nn.Module, str], Any] = dataclasses.field(default_factory=dict)

    def carries_over(self, module: nn.Module, name: str, value: Any) -> bool:
        """Return whether the next call would read a value that differs from what this one read."""
        return (module, name) in self.read and not _is_same(getattr(module, name, None), value)

    def set(self, module: nn.Module, name: str, value: Any) -> None:
        self.before.setdefault((module, name), module.__dict__.get(name, _MISSING))
        setattr(module, name, value)

    def rewind(self) -> None:
        """Give each attribute the value that it had before the run."""
        for (module, name), value in self.before.items():
            if value is _MISSING:
                delattr(module, name)
            else:
                setattr(module, name, value)
        self.before.clear()


def _is_same(old: Any, new: Any) -> bool:
    try:
        return bool(old == new)
    except Exception:
        return False
