"""Interpret the statements of a torch function, and emit those of its port."""

from __future__ import annotations

import ast
import functools
import importlib
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.calls import memory
from jaxgrad.parity.port.expressions import conditions
from jaxgrad.parity.port.functions import closures
from jaxgrad.parity.port.loops import loop_statements
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.statements import (
    branches,
    flags,
    holes,
    matches,
    size_branches,
    stores,
    with_statements,
)
from jaxgrad.parity.port.statements.assignments import store
from jaxgrad.parity.port.statements.augmented import augmented
from jaxgrad.parity.port.values.leaving import LEAVING, Broken, Continued, Returned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor
from jaxgrad.parity.port.values.values import code_of, real_of


def execute(body: list[ast.stmt], scope: Scope) -> None:
    """Interpret statements in order.

    Raises:
        PortError: One of them cannot be written in JAX.
        Returned, Broken, Continued: The statement of this name was reached.
    """
    number = 0
    while number < len(body):
        node = body[number]
        handler = _handler(node, body[number + 1 :])
        if handler is None:
            raise scope.refuse(
                f"{type(node).__name__} statements are not ported"
                "; write it with assignments, loops and branches",
                node,
            )
        scope.begin(node)
        start = holes.before(scope) if scope.run.leaves_holes else None
        length = len(scope.body)
        try:
            handler(node, scope)
            if isinstance(node, ast.Assign) and len(scope.body) == length:
                scope.hold_comments(node)
        except PortError as refusal:
            if start is None:
                raise
            number += holes.leave(refusal, body[number:], start, scope) - 1
        except LEAVING:
            raise
        except Exception as error:
            scope.run.note_error(error, scope.place(node))
            raise
        number += 1


def _handler(node: ast.stmt, after: list[ast.stmt]) -> Callable[..., None] | None:
    """Return the function that interprets a statement; an `if` depends on those that follow it."""
    if isinstance(node, ast.If):
        return functools.partial(_if, after=after)
    return _HANDLERS.get(type(node))


def _assign(node: ast.Assign, scope: Scope) -> None:
    value = scope.run.evaluate(node.value, scope)
    for target in node.targets:
        store(target, value, scope)
        if isinstance(target, ast.Name):
            value = scope.values[target.id]  # `a = b = f(a)` calls f once


def _annotated(node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        store(node.target, scope.run.evaluate(node.value, scope), scope)


def _return(node: ast.Return, scope: Scope) -> None:
    raise Returned(Folded(None) if node.value is None else scope.run.evaluate(node.value, scope))


def _expression(node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        memory.keep_change(scope.run.evaluate(node.value, scope), scope)


def _if(node: ast.If, scope: Scope, after: list[ast.stmt]) -> None:
    """Interpret an `if`; `after` has the statements that follow it in its block."""
    length = len(scope.body)
    try:
        test = scope.run.evaluate(node.test, scope)
    except PortError:
        if not _only_raises(node):
            raise
        del scope.body[length:]
        return  # a check of values, such as `if not (x.min() >= 0 and x.max() < n): raise`
    if isinstance(test, Tensor) and _only_raises(node):
        if bool(test.real):
            execute(node.body, scope)
        return  # a check of values, which does not change a gradient
    if isinstance(test, Tensor) and not conditions.is_fixed_test(test):
        whole = branches.with_rest(node, after if scope.run.early else [])
        flag = flags.of_test(test)
        if flag is None:
            branches.branch(whole, test, scope)
            return
        if flags.branches(whole, test, scope):
            return
        test = flags.folded(flag, test, node, scope)
    if isinstance(test, Size) and not test.real and _is_check_of_library(node, scope):
        return
    if isinstance(test, Size) and size_branches.can_be_written(node):
        if scope.has_both_arms(test, node.test):
            size_branches.branch(node, test, scope)
            return
    taken = conditions.truth(test, node.test, scope)
    shown = node.lineno <= scope.shown  # at an assertion of the test
    if taken and not shown:
        scope.hold_comments_above(node)
    execute(node.body if taken else node.orelse, scope)
    scope.drop_comments()


def _is_check_of_library(node: ast.If, scope: Scope) -> bool:
    """Return whether a branch raises or warns, and does nothing else.

    It is torch's own code, or that of a library that only rearranges an array: JAX rejects these
    sizes too.
    """
    inner = [x for x in ast.walk(node) if isinstance(x, ast.stmt)]
    only = all(isinstance(x, ast.If | ast.Raise) or _warns(x) for x in inner)
    return only and not node.orelse and (scope.plain or is_torch(scope.source.function))


def _warns(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and syntax.called(node.value) == "warnings.warn"


def _only_raises(node: ast.If) -> bool:
    return not node.orelse and all(isinstance(x, ast.Raise) for x in node.body)


def _assert(node: ast.Assert, scope: Scope) -> None:
    length = len(scope.body)
    try:
        test = scope.run.evaluate(node.test, scope)
    except PortError:  # such as `assert a.all() or b.all()`, a check of values
        del scope.body[length:]
        return
    if isinstance(test, Tensor):
        return  # a check of values, which does not change a gradient
    if not real_of(test):
        raise scope.refuse(
            "this assertion fails on the example inputs; pass inputs on which it holds", node
        )
    if isinstance(test, Size):
        scope.emit(ast.Assert(code_of(test)))


def _raise(node: ast.Raise, scope: Scope) -> None:
    raise scope.refuse(
        "the module raises here on the example inputs; pass inputs on which it does not", node
    )


def _define(node: ast.FunctionDef, scope: Scope) -> None:
    scope.values[node.name] = closures.define(node, scope)


def _import(node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    package = scope.source.function.__globals__.get("__package__")
    for alias in node.names:
        if isinstance(node, ast.Import):
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.split(".")[0])
            scope.values[alias.asname or alias.name.split(".")[0]] = Folded(
                module if alias.asname else top
            )
        else:
            module = importlib.import_module("." * node.level + (node.module or ""), package)
            scope.values[alias.asname or alias.name] = Folded(getattr(module, alias.name))


def _try(node: ast.Try, scope: Scope) -> None:
    try:
        _guarded(node, scope)
    except PortError:
        raise
    except Exception:  # the block was left
        execute(node.finalbody, scope)
        raise
    execute(node.finalbody, scope)


def _guarded(node: ast.Try, scope: Scope) -> None:
    """Interpret `try` with its handlers, for errors of the run such as a missing key."""
    try:
        execute(node.body, scope)
    except (PortError, *LEAVING):
        raise
    except Exception as error:
        for handler in node.handlers:
            kinds = None if handler.type is None else scope.run.evaluate(handler.type, scope)
            if kinds is None or isinstance(error, real_of(kinds)):
                scope.run.note_handled()
                execute(handler.body, scope)
                return
        raise
    execute(node.orelse, scope)


def _delete(node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        match target:
            case ast.Name(name):
                scope.values.pop(name, None)
            case ast.Subscript(owner, key):
                held, position = scope.run.evaluate(owner, scope), scope.run.evaluate(key, scope)
                stores.delete_item(held, position, scope, node)
            case ast.Tuple(parts) | ast.List(parts):
                _delete(ast.copy_location(ast.Delete(parts), node), scope)
            case ast.Attribute(owner, name):
                stores.delete_attribute(scope.run.evaluate(owner, scope), name, scope, node)
            case _:
                raise scope.refuse("this target of `del` is not ported; delete names alone", node)


def _pass(*_: Any) -> None:
    pass


def _break(*_: Any) -> None:
    raise Broken


def _continue(*_: Any) -> None:
    raise Continued


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: augmented, ast.Return: _return,
    ast.Expr: _expression, ast.Assert: _assert, ast.Raise: _raise,
    ast.For: loop_statements.for_loop, ast.While: loop_statements.while_loop,
    ast.With: with_statements.with_statement, ast.Match: matches.match_statement,
    ast.FunctionDef: _define, ast.Import: _import, ast.ImportFrom: _import, ast.Try: _try,
    ast.Delete: _delete, ast.Pass: _pass,
    ast.Break: _break, ast.Continue: _continue, ast.Global: _pass, ast.Nonlocal: _pass,
}  # fmt: skip
