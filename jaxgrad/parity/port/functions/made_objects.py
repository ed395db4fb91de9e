"""Objects of the configuration that the program fills with tensors, such as a cache or a module.

The object itself exists in the run. Each attribute that the program sets on it is a value of the
function that sets it. It can be read there, and in the functions that are called from there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.functions.parameters import Arguments, passed_as
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import OutOfReach
from jaxgrad.parity.port.values.binding import kept
from jaxgrad.parity.port.values.scope import Run, Scope
from jaxgrad.parity.port.values.value_types import Folded, Value, fresh, is_dynamic
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


def store(owner: Value, name: str, value: Value, scope: Scope) -> None:
    """Interpret `object.name = value`."""
    setattr(owner.real, name, real_of(value))
    own = scope.run.stored.setdefault(id(owner.real), {})
    own[name] = kept(name.strip("_"), value, scope, lasting=True), scope


def read(owner: Value, name: str, scope: Scope, node: ast.AST) -> Value | None:
    """Return the value of an attribute that the program has set, or None for any other.

    A function that is called by the one that has set it gets it as an argument.

    Raises:
        OutOfReach: The function that has set it to a value that the port computes has returned.
        PortError: The port has classes, whose methods have the arguments of torch's.
    """
    found = scope.run.stored.get(id(owner.real), {}).get(name)
    if found is None:
        return None
    scope.run.unread.pop((id(owner.real), name), None)
    value, where = fresh(found[0]), found[1]
    if where is scope or not is_dynamic(value):
        return value
    if scope.run.classes is not None or where.code is None:
        raise scope.refuse(_reason(owner, name), node)
    callers = scope.run.scopes
    if where not in callers or scope not in callers:
        raise OutOfReach(_reason(owner, name), scope.place(node), where.code)
    for inner in callers[callers.index(where) + 1 : callers.index(scope) + 1]:
        value = _passed(name.strip("_"), value, inner)
    return value


def _passed(name: str, value: Value, inner: Scope) -> Value:
    """Return a value of a function in a function that it calls, which gets another argument."""
    for outer, known in inner.carried:
        if outer is value:
            return known
    taken = inner.names | set(inner.values) | inner.lasting | syntax.assigned(inner.source.node)
    own: Arguments = {local: syntax.name(local) for local in taken} | inner.passed
    new = passed_as(name, value, inner, own)
    added = {local: code for local, code in own.items() if local not in taken | set(inner.passed)}
    inner.passed.update(added)
    inner.lasting.update(added)
    inner.carried.append((value, new))
    return new


def _reason(owner: Value, name: str) -> str:
    return (
        f"`{name}` of {type(owner.real).__name__} is set in one function and read in another; "
        "return it, and pass it as an argument"
    )
