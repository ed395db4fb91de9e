"""Buffers that a forward pass changes: the function returns its params with the new ones.

`p["running_mean"] = new` stands for torch's change in place; a function in which this happens
returns `(result, p)`, and so does every function that calls it.
"""

from __future__ import annotations

import ast
import re

from jaxgrad.parity.port.ir import UpdateBuffer
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.refusals import OutOfReach, PortError
from jaxgrad.parity.port.values.scope import Scope, Store
from jaxgrad.parity.port.values.value_types import Items, Value


def is_leaf(code: ast.expr | None) -> bool:
    """Return whether an expression is a tensor of the params."""
    part = None if code is None else on_expression(code).part
    return isinstance(code, ast.Subscript) and part is not None and part.siblings is not None


def store(place: ast.expr, new: ast.expr, scope: Scope, node: ast.AST) -> None:
    """Put a new value in the params of the function, at the place of an expression."""
    _drop_earlier(place, new, scope)
    statement = ast.Assign([syntax.as_target(place)], new)
    note(statement, scope, node)
    scope.emit(statement)
    scope.stores.append(Store(place, statement))


def note(statement: ast.Assign, scope: Scope, node: ast.AST) -> None:
    """Note that a statement of the function updates its params, or those of a loop's module.

    Raises:
        PortError: The params are those of a module that the function gets as an argument.
    """
    if scope.run.classes is not None:
        scope.note_change()
        return
    on_statement(statement).update = UpdateBuffer()
    for owner in syntax.updated(statement):
        if owner != PARAMS and owner not in scope.loop_modules:
            raise _out_of_reach(isinstance(statement.targets[0], ast.Tuple), scope, node)
        if owner == PARAMS:
            scope.note_update()


def _out_of_reach(is_call: bool, scope: Scope, node: ast.AST) -> PortError:
    """Return the error that makes a function be interpreted where its module is known."""
    reason = (
        "a module that is an argument changes its buffers; call it in a method of its parent"
        if is_call
        else "a buffer of a module that is an argument is changed; "
        "change it in a method of the module"
    )
    if scope.code is None:
        return scope.refuse(reason, node)
    return OutOfReach(reason, scope.place(node), scope.code)


def _drop_earlier(place: ast.expr, new: ast.expr, scope: Scope) -> None:
    """Drop the statement that has put a value in the same place, if nothing has read it there."""
    last = scope.stores[-1] if scope.stores else None
    if last is None or len(scope.body) < 2 or scope.body[-2] is not last.statement:
        return
    reads = {*syntax.names_in(scope.body[-1]), *syntax.names_in(new)}
    if syntax.same(last.place, place) and syntax.root(place) not in reads:
        del scope.body[-2]


def call(value: Value, code: ast.Call, params: ast.expr, scope: Scope, node: ast.AST) -> ast.expr:
    """Emit the call of a function that returns its params too; return its result's name."""
    path = param_paths.of(params).path
    label = path[-1] if path and isinstance(path[-1], str) else "module"
    count = len(value.items) if isinstance(value, Items) else 0
    if not path and count > 1:  # a method of the module itself
        label = re.sub(r"_\d+$", "", code.func.id) if syntax.is_written(code.func) else label
    result = scope.fresh(f"{label}_out") if value.real is not None else "_"
    targets: list[ast.expr] = [ast.Name(result, ast.Store()), syntax.as_target(params)]
    statement = ast.Assign([ast.Tuple(targets, ast.Store())], code)
    on_statement(statement).elements = count
    note(statement, scope, node)
    scope.emit(statement)
    if path:
        scope.stores.append(Store(params, statement))
    return syntax.name(result)
