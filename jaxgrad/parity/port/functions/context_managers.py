"""Interpret `with f(...):` for a generator function `f`: the block runs where `f` yields."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port.functions import inlined
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.values.binding import stop_all
from jaxgrad.parity.port.values.leaving import Broken, Continued, Left, Returned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Value
from jaxgrad.parity.port.values.values import is_computed


@dataclasses.dataclass(eq=False)
class Manager(Value):
    """A call of a generator function (`real`) that `contextlib.contextmanager` decorates."""

    args: list[Value] = dataclasses.field(default_factory=list)
    keywords: dict[str, Value] = dataclasses.field(default_factory=dict)


def of_call(function: Any, args: list[Value], keywords: dict[str, Value]) -> Manager | None:
    """Return the context manager that a call makes, or None for any other function.

    Those of torch that take no tensor are entered as they are.
    """
    if not isinstance(function, types.FunctionType) or function.__code__ is not _DECORATED:
        return None
    own = function.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    if is_torch(own) and not any(map(is_computed, [*args, *keywords.values()])):
        return None
    return Manager(own, None, args, keywords)


_DECORATED = contextlib.contextmanager(lambda: iter(())).__code__


def enter(manager: Manager, block: Callable[[Value], None], scope: Scope, node: ast.AST) -> None:
    """Interpret a context manager around a block, which takes the value that is yielded."""
    source = source_of(manager.real)
    values = inlined.arguments(manager.real, manager.args, manager.keywords, scope, node)
    frame = inlined.frame_of(source, values, scope)

    def resume(value: Value) -> None:
        with inlined.inside(outer, scope):
            try:
                block(value)
            except Returned as how:
                result = stop_all(how.value) if scope.no_grad else how.value
                raise Left(Returned(result)) from None
            except (Broken, Continued) as how:
                raise Left(how) from None

    frame.resume = resume
    try:
        with inlined.inside(frame, scope) as outer:
            scope.run.execute(source.node.body, scope)  # pyright: ignore[reportArgumentType]
    except Left as left:
        raise left.how from None
    except Returned:
        pass


def yielded(value: Value, scope: Scope, node: ast.AST) -> Value:
    """Interpret `yield value`: run the block of the `with` statement.

    Raises:
        PortError: The generator is not a context manager.
    """
    if scope.resume is None:
        raise scope.refuse("a generator is not ported; return a list", node)
    scope.resume(value)
    return Folded(None)


@contextlib.contextmanager
def entered(context: Any, scope: Scope, node: ast.AST) -> Any:
    """Enter a context manager of the run; one that changes the gradient mode changes the port's.

    Raises:
        PortError: It is not a context manager, or it switches autocast on.
    """
    if not hasattr(context, "__enter__"):
        raise scope.refuse(
            f"the context manager {type(context).__name__} is not ported"
            "; leave it out, or write its statements around the block",
            node,
        )
    casts = torch.is_autocast_enabled("cpu")
    with context as value:
        if torch.is_autocast_enabled("cpu") is not casts:
            raise scope.refuse("autocast inside of a context manager; write it at the block", node)
        with scope.grad_mode(no_grad=not torch.is_grad_enabled()):
            try:
                yield value
            except Returned as returned:
                result = stop_all(returned.value) if scope.no_grad else returned.value
                raise Returned(result) from None
