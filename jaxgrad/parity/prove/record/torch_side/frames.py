"""Find the line of the user's torch code that is running."""

from __future__ import annotations

import pathlib
import sys
from types import FrameType

import torch

from jaxgrad._core.source import defined_at, is_generated, short_name


_RUN = str(pathlib.Path(__file__).with_name("run.py"))  # calls the module; its callers are outside
_HIDDEN = (str(pathlib.Path(torch.__file__).parent), str(pathlib.Path(__file__).parents[3]))


def user_line() -> str:
    """Return `file:line` of the innermost line of the module's own code, or "" if it has none."""
    frame = sys._getframe(1)
    while frame is not None and (path := frame.f_code.co_filename) != _RUN:
        if is_users(frame):
            return f"{short_name(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def is_users(frame: FrameType) -> bool:
    """Whether a frame runs the user's code, not torch's, jaxgrad's or generated code."""
    return is_users_file(frame.f_code.co_filename)


def is_users_file(path: str) -> bool:
    """Whether a file is the user's, not torch's, jaxgrad's or generated code."""
    return not (path.startswith(_HIDDEN) or is_generated(path) or path.endswith("/functools.py"))


def backward_line(function: type[torch.autograd.Function]) -> str:
    """Return `file:line` of the `backward` of a custom Function, or "" if it is not the user's."""
    for method in (function.backward, function.vjp):  # two names, of which the user defines one
        code = getattr(method, "__code__", None)
        if code is not None and is_users_file(code.co_filename):
            line = defined_at(code.co_filename, code.co_firstlineno)
            return f"{short_name(code.co_filename)}:{line}"
    return ""
