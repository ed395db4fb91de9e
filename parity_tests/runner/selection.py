"""Select the cells to run: the product of cases, dtypes and modes on one device."""

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
    """A pattern matches no case; the message lists similar ids."""


def select(cases: Mapping[str, Case], patterns: Sequence[str]) -> list[Case]:
    """Return the cases that match any pattern: an id or part of one, a glob, a theme, a source row.

    Raises:
        NothingSelected: A pattern matches no case.
    """
    if not patterns:
        return list(cases.values())
    chosen: dict[str, Case] = {}
    for pattern in patterns:
        if pattern in cases:
            chosen[pattern] = cases[pattern]
            continue
        matches = {id: case for id, case in cases.items() if _matches(case, pattern)}
        if not matches:
            near = difflib.get_close_matches(pattern, _words(cases), n=5, cutoff=0.3)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise NothingSelected(f"no case matches {pattern!r}{hint}")
        chosen |= matches
    return [case for id, case in cases.items() if id in chosen]


def _matches(case: Case, pattern: str) -> bool:
    if pattern in case.source or pattern in (case.theme, case.behaviour):
        return True
    if any(char in pattern for char in "*?["):
        return fnmatch.fnmatch(case.id, pattern)
    return pattern.lower() in case.id


def _words(cases: Mapping[str, Case]) -> list[str]:
    """Return the case ids and source rows to compare a misspelled pattern with."""
    return [*cases, *dict.fromkeys(row for case in cases.values() for row in case.source)]


def grid(
    cases: Iterable[Case], dtypes: Sequence[str], modes: Sequence[str], device: str
) -> list[Cell]:
    """Return every cell of the cases; empty `dtypes` or `modes` selects all that a case has."""
    allowed = ("float32", "bfloat16") if device == "tpu" else None  # TPUs lack the other dtypes
    return [
        Cell(case, dtype, mode, device)
        for case in cases
        if device in case.devices
        for dtype in case.dtypes
        if (not dtypes or dtype in dtypes) and (allowed is None or dtype in allowed)
        for mode in case.modes
        if not modes or mode in modes
    ]
