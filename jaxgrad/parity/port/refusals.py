"""The error of a port: the torch line, what cannot be written, and what to write by hand."""

from __future__ import annotations

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of the user's torch source."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        name = pathlib.Path(self.file).name
        return f"{name}:{self.line}" + (f" `{self.text.strip()}`" if self.text else "")


class PortError(Exception):
    """The module cannot be ported; the message names the torch line, the reason and a remedy."""

    def __init__(self, reason: str, place: Place | None = None) -> None:
        self.reason, self.place = reason, place
        super().__init__(f"{place}: {reason}" if place else reason)
