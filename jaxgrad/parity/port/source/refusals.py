"""The error of a port: the torch line, what cannot be written, and what to write by hand."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal

from jaxgrad._core.source import short_name


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the user's torch source."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        name = short_name(self.file)
        return f"{name}:{self.line}" + (f" `{self.text.strip()}`" if self.text else "")


class PortError(Exception):
    """The module cannot be ported; the message names the torch line, the reason and a remedy.

    Attributes:
        reason: What cannot be ported, and what to do.
        place: The line of the torch source, or None.
        ported: The port that was written and is not proved, a `Ported` with its `source` and its
            `report`; None if none was written.
    """

    def __init__(self, reason: str, place: Place | None = None, ported: Any = None) -> None:
        self.reason, self.place, self.ported = reason, place, ported
        super().__init__(f"{place}: {reason}" if place and place.file else reason)


KEPT = "\nthe port was written and is kept: error.ported.source of this PortError is its text"


class Interrupted(KeyboardInterrupt):
    """A port is interrupted after its text was written.

    Attributes:
        ported: The port, a `Ported` with its `source`, which is not proved.
    """

    def __init__(self, ported: Any) -> None:
        self.ported = ported
        super().__init__("the port was written, but not proved; `ported` of this exception has it")


@dataclasses.dataclass(frozen=True)
class Raised:
    """An error of the torch program, which its own `try` may handle, and the line that raised it.

    Attributes:
        error: The error.
        place: The line of the innermost statement.
    """

    error: Exception
    place: Place


class OutOfReach(PortError):
    """A stored value is read after the function that has set it has returned.

    Attributes:
        code: The function, which has to be interpreted where it is called.
    """

    def __init__(self, reason: str, place: Place | None, code: types.CodeType) -> None:
        super().__init__(reason, place)
        self.code = code


LeavesHoles = bool | Literal["each"]  # "each" for a hole of its own for every refused statement


@dataclasses.dataclass(frozen=True)
class Hole:
    """A statement of the torch program that is to be written by hand.

    Attributes:
        place: Its line, the first one if there are several statements.
        reason: Why it cannot be ported, and what to write.
        name: The function of the port that raises NotImplementedError.
        open: What the proof leaves open: the surfaces by mode, in which the function is called.
        statements: The number of statements: those that use an array whose size depends on values
            are written by hand together with the one that makes it.
    """

    place: Place
    reason: str
    name: str
    open: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    statements: int = 1

    def __str__(self) -> str:
        text = f"{self.name} is to be written by hand: {self.place}: {self.reason}"
        rest = [f"{', '.join(surfaces)} in {mode} mode" for mode, surfaces in self.open.items()]
        return text + (f"; not judged: {' and '.join(rest)}" if rest else "")
