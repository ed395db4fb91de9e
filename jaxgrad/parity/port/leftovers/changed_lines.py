"""Find the line of a torch program that changes something, by running it line by line."""

from __future__ import annotations

import linecache
import os
import pathlib
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from jaxgrad.parity.port.source.refusals import Place


_FOLDERS = pathlib.Path(torch.__file__).parent, pathlib.Path(__file__).parents[3]
_LIBRARIES = tuple(f"{folder}{os.sep}" for folder in _FOLDERS)
_PYTHON = sysconfig.get_path("stdlib")


def line_of(run: Callable[[], Any], is_changed: Callable[[], bool]) -> Place | None:
    """Return the first line of the user's program after which `is_changed` returns true.

    Args:
        run: Runs the program.
        is_changed: Returns whether the value has changed since the start of the run.

    Returns:
        The line; None if the value does not change, or changes outside of the user's program.
    """
    last: list[Place] = []
    found: list[Place] = []
    active: list[FrameType] = []  # of the user's program, inside of the run

    def looked() -> bool:
        if not found and last and is_changed():
            found.append(last[-1])
        return bool(found)

    def local(frame: FrameType, event: str, _: Any) -> Any:
        if looked():
            return None
        if event == "line":
            last[:] = [_place(frame)]
        elif event == "return":
            del active[active.index(frame) :]
            last[:] = [_place(active[-1])] if active else []
        return local

    def entered(frame: FrameType, _: str, __: Any) -> Any:
        if looked() or not _is_users(frame):
            return None
        active.append(frame)
        return local

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        run()
    finally:
        sys.settrace(before)
    looked()
    return found[0] if found else None


def _place(frame: FrameType) -> Place:
    file = frame.f_code.co_filename
    return Place(file, frame.f_lineno, linecache.getline(file, frame.f_lineno))


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file.startswith(_LIBRARIES) or file.startswith("<"):
        return False
    return not file.startswith(_PYTHON) or "-packages" in file
