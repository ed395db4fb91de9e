"""Run the user's code, and report an exception that it raises in one sentence."""

from __future__ import annotations

import contextlib
import inspect
import pathlib
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jaxgrad._core.refusals import type_of


_OWN = str(pathlib.Path(__file__).parents[2])  # frames below this are not the user's

_LONGEST = 1000  # characters of the user's message


class ProofError(Exception):
    """The models cannot be compared; the message says what is wrong and how to fix it."""


@contextlib.contextmanager
def running(code: str, hint: str = "", *, keep: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn an exception into a `ProofError` that names the user's `code`, its line and a hint.

    Exceptions of the types `keep` are explained elsewhere, and pass through.
    """
    try:
        yield
    except (ProofError, *keep):
        raise
    except Exception as error:
        hint = f". {hint}" if hint else ""
        raise ProofError(f"{code} raised {described(error)}{hint}") from error


def described(error: BaseException) -> str:
    """Return an exception's type, the innermost line of the user's code, and the message."""
    return f"{type(error).__name__}{place_of(error)}: {first_line(error)}"


def place_of(error: BaseException) -> str:
    """Return " at file:line" for the innermost line of the user's code in a traceback, or ""."""
    frames = _own_frames(error)
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def raised_later(error: BaseException, other: BaseException) -> bool:
    """Whether the user's code ran further before this error than before the other one.

    In the first call in which they differ, this error was raised at a later line.
    """
    pairs = zip(_own_frames(error), _own_frames(other), strict=False)
    x, y = next((p for p in pairs if p[0].lineno != p[1].lineno), (None, None))
    if x is None or y is None or (x.filename, x.name) != (y.filename, y.name):
        return False
    return (x.lineno or 0) > (y.lineno or 0)


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the lines of the user's code in a traceback."""
    return [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in f.filename and not f.filename.startswith((_OWN, "<"))
    ]


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message; a very long one ends with "..."."""
    line = str(error).strip().split("\n")[0]
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rpartition(' ')[0]} ..."


def needed_inputs(forward: Callable[..., Any], inputs: Any) -> str:
    """Say what `inputs=` needs if a module's `forward` cannot take these inputs, or return ""."""
    args, kwargs = ((), inputs) if isinstance(inputs, Mapping) else (inputs, {})
    try:
        signature = inspect.signature(forward)
    except (TypeError, ValueError):  # a scripted module
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        parameters = signature.parameters.values()
        names = ", ".join(str(each.replace(annotation=each.empty)) for each in parameters)
        return f"; forward takes ({names}), and inputs= needs a tuple with an entry for each"
    return ""


def shown(value: Any) -> str:
    """Return a short description of an argument's value for an error message."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # the user's own __repr__
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def returned(value: Any) -> str:
    """Describe what a function returned: `an array of shape (4, 5)`, or the name of a type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {tuple(value.shape)}" if value.shape else "a scalar array"
    length = f" of length {len(value)}" if isinstance(value, tuple | list) else ""
    return f"{type_of(value)}{length}"


def kind_of(value: Any) -> str:
    """Return the type of a value, or which class it is: `the class Linear`."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def not_a_module(value: Any, call: str) -> str:
    """Say that the first argument is not a torch module, and what to pass instead.

    Args:
        value: The first argument.
        call: The right order of arguments, as in `prove(module, fn, params, inputs)`.
    """
    if isinstance(value, type):
        remedy = f"; create one: {value.__name__}(...)"
    elif callable(value):
        remedy = f"; call {call}"
    else:
        remedy = ""
    kind = kind_of(value) if isinstance(value, type) else type_of(value)
    return f"the first argument is {kind}, not a torch.nn.Module{remedy}"


def bug(error: BaseException) -> str:
    """Describe an exception that jaxgrad itself raised, with its innermost line in jaxgrad."""
    if isinstance(error, MemoryError):
        return f"the memory does not suffice to prove this model: {first_line(error)}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(_OWN)]
    path = pathlib.Path(frames[-1].filename).relative_to(pathlib.Path(_OWN).parent)
    return (
        f"this is a bug in jaxgrad, not in the port: {type(error).__name__} at {path}:"
        f"{frames[-1].lineno}: {first_line(error)}. Please report it"
    )
