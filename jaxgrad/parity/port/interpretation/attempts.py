"""Interpret a module in several ways, until one of them can be written."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Mapping
from typing import Any

from jaxgrad.parity.port.functions import rearranging
from jaxgrad.parity.port.source.refusals import OutOfReach, PortError
from jaxgrad.parity.port.values.scope import Run


Interpreted = tuple[list[Run], list[str]]  # the runs in train and eval mode, and notes on them
MOST_INLINED = 20  # functions that are written where they are called
_ATTEMPTS = (
    {"numbered": True},
    {"warm": True},
    {"tracing": True, "warm": True},
    {"early": True},
    {"early": True, "warm": True},
)


def attempted(interpret: Callable[..., Interpreted]) -> Interpreted:
    """Interpret the module; after a refusal try it in other ways.

    First each module of a list is reached by its own number, not by a loop's counter, so that its
    buffers can change. Then it is run once before, then told that it is traced; at last the
    statements after an early return become an arm of a branch.

    Args:
        interpret: Interprets the module, with fields of the run as keywords.
    """
    try:
        return _with_inlined(interpret)
    except PortError as first:
        refusal = first
    for attempt in _ATTEMPTS:
        with contextlib.suppress(PortError):
            return _with_inlined(interpret, **attempt)
    raise refusal


def _with_inlined(interpret: Callable[..., Interpreted], **attempt: bool) -> Interpreted:
    """Interpret the module, with each function where it is called that sets what is read later."""
    inlined: set[types.CodeType] = set()
    while True:
        try:
            ways = {"inlined": frozenset(inlined), **attempt}
            return _without_libraries(interpret, interpret(**ways), ways)
        except OutOfReach as refusal:
            if refusal.code in inlined or len(inlined) > MOST_INLINED:
                raise
            inlined.add(refusal.code)


def _without_libraries(
    interpret: Callable[..., Interpreted], found: Interpreted, ways: Mapping[str, Any]
) -> Interpreted:
    """Interpret once more, with the views alone of library functions that only rearrange."""
    libraries = frozenset().union(*map(rearranging.found, found[0]))
    if libraries:
        with contextlib.suppress(PortError):
            again = interpret(rearranging=libraries, **ways)
            if len(again[0]) == len(found[0]):
                return again
    return found
