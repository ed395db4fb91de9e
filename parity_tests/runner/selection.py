"""Which cells to run: cases by pattern, times dtypes, times modes, on one device."""

import difflib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from parity_tests.case import Case


# The rows of the source documents: S0-01 ... S4-14.
ROWS = tuple(
    f"S{part}-{row:02d}"
    for part, count in enumerate((18, 8, 18, 4, 14))
    for row in range(1, count + 1)
)


class Cell(NamedTuple):
    case: Case
    dtype: str
    mode: str
    device: str


class NothingSelected(Exception):
    """A pattern that matches no case; says which ids are near."""


def select(cases: Mapping[str, Case], patterns: Sequence[str]) -> list[Case]:
    """The cases that match any pattern: an id, part of one, a glob, a theme, or a source row.

    Raises:
      NothingSelected: A pattern matches nothing.
    """
    if not patterns:
        return list(cases.values())
    chosen: dict[str, Case] = {}
    for pattern in patterns:
        if pattern in cases:
            chosen[pattern] = cases[pattern]
            continue
        found = {id: made for id, made in cases.items() if _matches(made, pattern)}
        if not found:
            near = difflib.get_close_matches(pattern, _words(cases), n=5, cutoff=0.3)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise NothingSelected(f"no case matches {pattern!r}{hint}")
        chosen |= found
    return [made for id, made in cases.items() if id in chosen]


def _matches(made: Case, pattern: str) -> bool:
    if pattern in made.source or pattern in (made.theme, made.behaviour):
        return True
    if any(char in pattern for char in "*?["):
        return fnmatch.fnmatch(made.id, pattern)
    return pattern.lower() in made.id


def _words(cases: Mapping[str, Case]) -> list[str]:
    """Ids, and sources for a pattern that looks like one."""
    return [*cases, *dict.fromkeys(row for made in cases.values() for row in made.source)]


def grid(
    cases: Iterable[Case], dtypes: Sequence[str], modes: Sequence[str], device: str
) -> list[Cell]:
    """Every cell of these cases; empty `dtypes` or `modes` means all that a case names."""
    allowed = ("float32", "bfloat16") if device == "tpu" else None  # a TPU has no other
    return [
        Cell(made, dtype, mode, device)
        for made in cases
        if device in made.devices
        for dtype in made.dtypes
        if (not dtypes or dtype in dtypes) and (allowed is None or dtype in allowed)
        for mode in made.modes
        if not modes or mode in modes
    ]
