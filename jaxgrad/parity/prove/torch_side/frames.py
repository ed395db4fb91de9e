"""Find the line of the user's torch code that is running."""

from __future__ import annotations

import pathlib
import sys

import torch


_HIDDEN = (str(pathlib.Path(torch.__file__).parent), str(pathlib.Path(__file__).parents[3]))


def user_line() -> str:
    """Return `file:line` of the innermost frame outside torch and this package, or ""."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if not path.startswith(_HIDDEN) and path[:1] != "<" and not path.endswith("/functools.py"):
            return f"{pathlib.Path(path).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
