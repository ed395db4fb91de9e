"""Settings that a module sets on itself while it runs, such as `self.shift = 0`."""

from __future__ import annotations

import dataclasses
from typing import Any


_MISSING = object()


@dataclasses.dataclass
class Settings:
    """The attributes of modules that a run has read, and the first values of those it has set."""

    seen: dict[tuple[int, str], Any] = dataclasses.field(default_factory=dict)
    before: dict[tuple[int, str], tuple[Any, Any]] = dataclasses.field(default_factory=dict)

    ever: list[tuple[Any, str]] = dataclasses.field(default_factory=list)  # all that it has set

    def read(self, owner: Any, name: str) -> None:
        """Note that an attribute was read."""
        self.seen[id(owner), name] = owner

    def was_read(self, owner: Any, name: str) -> bool:
        return (id(owner), name) in self.seen

    def was_set(self, owner: Any, name: str) -> bool:
        return (id(owner), name) in self.before

    def was_ever_set(self, owner: Any, name: str) -> bool:
        """Return whether the run has set an attribute, even if it has been given back since."""
        return any(own is owner and name == other for own, other in self.ever)

    def carries_over(self, owner: Any, name: str, value: Any) -> bool:
        """Return whether the next call would read a value that differs from what this one read."""
        return self.was_read(owner, name) and not is_same(getattr(owner, name, None), value)

    def set(self, owner: Any, name: str, value: Any) -> None:
        self.before.setdefault((id(owner), name), (owner, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)
        self.ever.append((owner, name))

    def rewind(self) -> None:
        """Give each attribute the value that it had before the run."""
        for (_, name), (owner, value) in self.before.items():
            if value is _MISSING:
                vars(owner).pop(name, None)  # the run may have deleted it
            else:
                setattr(owner, name, value)
        self.before.clear()


def is_same(old: Any, new: Any) -> bool:
    """Return whether two settings are equal; objects that cannot be compared are not."""
    try:
        return bool(old == new)
    except Exception:
        return False
