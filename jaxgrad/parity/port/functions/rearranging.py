"""Find the functions of libraries that only rearrange an array: the port has their views instead.

`rearrange(x, "b (h w) c -> b h w c", h=8)` parses its words and calls a dozen functions of its
library, and all that torch computes is `x.reshape(...)`. So the port is written a second time, with
the statements of these functions where they are called, and their sizes as expressions.
"""

from __future__ import annotations

import types

from jaxgrad.parity.port.values.scope import Run, Scope


VIEWS = frozenset({
    "reshape", "view", "permute", "transpose", "swapaxes", "swapdims", "movedim", "moveaxis",
    "unsqueeze", "squeeze", "expand", "expand_as", "broadcast_to", "flatten", "unflatten",
    "contiguous", "repeat", "tile", "size", "dim", "t",
    "sum", "mean", "prod", "amax", "amin", "any", "all",  # over the sizes that are gone then
})  # fmt: skip


def note(function: types.FunctionType, scope: Scope) -> None:
    """Remember of a function that was interpreted whether it did anything but rearrange."""
    run, code = scope.run, function.__code__
    if not is_of_library(function, run) or not scope.operators:
        return
    (run.views if scope.operators <= VIEWS else run.computing).add(code)


def is_of_library(function: types.FunctionType, run: Run) -> bool:
    """Return whether a function is neither torch's nor of the package of the module."""
    package = (function.__module__ or "").partition(".")[0]
    return package not in ("torch", type(run.module).__module__.partition(".")[0])


def found(run: Run) -> frozenset[types.CodeType]:
    """Return the functions of which the port can have the views alone; none for flax classes."""
    return frozenset(run.views - run.computing) if run.classes is None else frozenset()
