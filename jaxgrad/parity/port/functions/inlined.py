"""Interpret a Python function where it is called: its statements become those of the caller."""

from __future__ import annotations

import ast
import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.functions import closures
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.source import Source, source_of
from jaxgrad.parity.port.values.scope import Frame, Scope
from jaxgrad.parity.port.values.value_types import Fields, Folded, Items, Value


def run(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
    *,
    plain: bool = False,
) -> Value:
    """Interpret a call of a function in the scope of its caller, and return its result.

    Args:
        function: The function.
        args: Its arguments.
        keywords: Its keyword arguments.
        scope: The caller.
        node: The call.
        plain: Whether the function only rearranges an array: then its sizes get no names.
    """
    source = source_of(function)
    values = arguments(function, args, keywords, scope, node)
    frame = frame_of(source, values, scope)
    frame.plain = plain or scope.plain
    with inside(frame, scope):
        return closures.interpret(source.node, scope)


def arguments(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
) -> dict[str, Value]:
    """Return the variables of a function at its start."""
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        raise scope.refuse(
            f"{function.__qualname__}: {error}; call it with the arguments that it takes", node
        ) from None
    values: dict[str, Value] = {}
    for name, parameter in signature.parameters.items():
        given: Any = bound.arguments.get(name)
        if parameter.kind == parameter.VAR_POSITIONAL:
            values[name] = Items(tuple, None, list(given or ()))
        elif parameter.kind == parameter.VAR_KEYWORD:
            values[name] = Fields(dict, None, dict(given or {}))
        else:
            default = Folded(parameter.default)
            values[name] = default if given is None else closures.once(name, given, scope)
    return values


def frame_of(source: Source, values: dict[str, Value], scope: Scope) -> Frame:
    """Return the frame of a function, whose variables get names that the caller does not use."""
    taken = scope.names | set(scope.renamed.values())
    names = sorted(syntax.assigned(source.node) & taken)
    return Frame(values, source, {n: scope.fresh(n) for n in names})


@contextlib.contextmanager
def inside(frame: Frame, scope: Scope) -> Iterator[Frame]:
    """Interpret in another frame; yield the frame that was left."""
    left = scope.enter(frame)
    try:
        yield left
    finally:
        scope.enter(left)
