"""Objects that the program makes of its configuration and fills with tensors, such as a cache.

The object itself exists in the run. Each attribute that the program sets on it is a value of the
function that sets it, and can be read there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.values.binding import kept
from jaxgrad.parity.port.values.kinds_of_values import Folded, Value, is_dynamic
from jaxgrad.parity.port.values.scope import Run, Scope
from jaxgrad.parity.port.values.values import real_of


DEEPEST = 4


def add(real: Any, run: Run) -> None:
    """Note an object that a call of its class has made in this run."""
    simple = isinstance(real, type | nn.Module | torch.Tensor | BaseException)
    if hasattr(real, "__dict__") and not simple:
        run.made.append(real)


def is_made(real: Any, run: Run) -> bool:
    """Return whether an object was made in this run, or is a part of one that was."""
    if not run.made or not hasattr(real, "__dict__"):
        return False
    return any(x is real for made in run.made for x in _parts(made, 0))


def holds_tensors(values: list[Value], run: Run) -> bool:
    """Return whether an object among some values has an attribute that the program has set."""
    if not run.stored:
        return False
    reals = [x.real for x in values if isinstance(x, Folded)]
    return any(id(x) in run.stored for real in reals for x in _parts(real, 0))


def _parts(real: Any, depth: int) -> Iterator[Any]:
    """Yield an object and the objects in its attributes and containers."""
    if isinstance(real, list | tuple):
        inner: Any = real
    elif isinstance(real, dict):
        inner = real.values()
    elif hasattr(real, "__dict__") and not isinstance(real, type | nn.Module | torch.Tensor):
        yield real
        inner = vars(real).values()
    else:
        return
    if depth < DEEPEST:
        for x in inner:
            yield from _parts(x, depth + 1)


def store(owner: Folded, name: str, value: Value, scope: Scope) -> None:
    """Interpret `object.name = value`."""
    setattr(owner.real, name, real_of(value))
    own = scope.run.stored.setdefault(id(owner.real), {})
    own[name] = kept(name.strip("_"), value, scope, lasting=True), scope


def read(owner: Folded, name: str, scope: Scope, node: ast.AST) -> Value | None:
    """Return the value of an attribute that the program has set, or None for any other.

    Raises:
        PortError: Another function of the program has set it to a value that the port computes.
    """
    found = scope.run.stored.get(id(owner.real), {}).get(name)
    if found is None:
        return None
    value, where = found
    if where is not scope and is_dynamic(value):
        raise scope.refuse(
            f"`{name}` of {type(owner.real).__name__} is set in one function and read in another; "
            "return it, and pass it as an argument",
            node,
        )
    return value
