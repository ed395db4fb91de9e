"""Find the library functions that only rearrange an array: the port has their views instead.

`rearrange(x, "b (h w) c -> b h w c", h=8)` parses its words and calls a dozen functions of its
library, and all that torch computes is `x.reshape(...)`. So the port is written a second time, with
the statements of these functions where they are called, and their sizes as expressions.
"""

from __future__ import annotations

import pathlib
import types

from jaxgrad.parity.port.values.scope import Run, Scope


INSTALLED = {"site-packages", "dist-packages"}
VIEWS = frozenset({
    "reshape", "view", "permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis",
    "unsqueeze", "squeeze", "expand", "expand_as", "broadcast_to", "flatten", "unflatten",
    "contiguous", "repeat", "tile", "size", "dim", "t",
    "sum", "mean", "prod", "amax", "amin", "any", "all",  # over the sizes that are gone then
})  # fmt: skip


def note_operator(name: str, scope: Scope) -> None:
    """Record the name of an operator for each function that is being interpreted."""
    for caller in scope.run.scopes:
        caller.operators.add(name)


def note(function: types.FunctionType, scope: Scope) -> None:
    """Record whether a library function that was interpreted has only rearranged arrays."""
    if is_of_library(function, scope.run) and scope.operators:
        known, code = scope.run.libraries, function.__code__
        known[code] = known.get(code, True) and scope.operators <= VIEWS


def is_of_library(function: types.FunctionType, run: Run) -> bool:
    """Return whether a function is of an installed package, not torch's and not the module's."""
    package = (function.__module__ or "").partition(".")[0]
    own = type(run.module).__module__.partition(".")[0]
    folders = pathlib.Path(function.__code__.co_filename).parts
    return package not in ("torch", own) and bool(INSTALLED & {*folders})


def found(run: Run) -> frozenset[types.CodeType]:
    """Return the library functions that a port replaces by their views; flax classes keep all."""
    codes = [code for code, rearranges in run.libraries.items() if rearranges]
    return frozenset(codes) if run.classes is None else frozenset()
