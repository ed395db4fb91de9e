"""Buffers that a forward pass changes: the function returns its params with the new ones.

`p = {**p, "running_mean": new}` stands for torch's change in place; a function in which this
happens returns `(result, p)`, and so does every function that calls it.
"""

from __future__ import annotations

import ast
import copy

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.refusals import OutOfReach, PortError
from jaxgrad.parity.port.values.kinds_of_values import Value
from jaxgrad.parity.port.values.scope import Scope, Store


def is_leaf(code: ast.expr | None) -> bool:
    """Return whether an expression is a tensor of the params."""
    part = None if code is None else on_expression(code).part
    return isinstance(code, ast.Subscript) and part is not None and part.siblings is not None


def store(place: ast.expr, new: ast.expr, scope: Scope, node: ast.AST) -> None:
    """Put a new value in the params of the function, at the place of an expression."""
    _drop_earlier(place, scope)
    statement: ast.stmt | None = None
    if scope.run.classes is not None:
        statement = ast.Assign([copy.deepcopy(place)], new)
    else:
        param = param_paths.of(place)
        if param.owner == PARAMS:
            scope.stateful = True
            if not _joined(param, new, scope):
                statement = param_paths.assigned(_with(param, new))
        elif param.owner in scope.turning:
            statement = updating(param.owner, _with(param, new))
        else:
            raise _out_of_reach(
                "a buffer of a module that is an argument is changed; "
                "change it in a method of the module",
                scope,
                node,
            )
    if statement is not None:
        scope.emit(statement)
    scope.stores.append(Store(place, new, statement))


def _drop_earlier(place: ast.expr, scope: Scope) -> None:
    """Drop the statement that has put a value in the same place, if nothing has read it there."""
    last = scope.stores[-1] if scope.stores else None
    if last is None or len(scope.body) < 2 or scope.body[-2] is not last.statement:
        return
    owner = param_paths.of(place).owner
    if syntax.same(last.place, place) and owner not in syntax.names_in(scope.body[-1]):
        del scope.body[-2]


def _out_of_reach(reason: str, scope: Scope, node: ast.AST) -> PortError:
    """Return the error that makes a function be interpreted where its module is known."""
    if scope.code is None:
        return scope.refuse(reason, node)
    return OutOfReach(reason, scope.place(node), scope.code)


def updating(variable: str, new: ast.expr) -> ast.Assign:
    """Return the statement that gives a loop's module its new params."""
    statement = ast.Assign([ast.Name(variable, ast.Store())], new)
    on_statement(statement).updates = variable
    return statement


def call(value: Value, code: ast.Call, params: ast.expr, scope: Scope, node: ast.AST) -> ast.expr:
    """Emit the call of a function that returns its params too; return its result's name."""
    param = param_paths.of(params)
    last = param.path[-1] if param.path else None
    label = last if isinstance(last, str) else "module"
    result = scope.fresh(f"{label}_out") if value.real is not None else "_"
    direct = not param.path
    changed = param.owner if direct else scope.fresh(label)
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in (result, changed)]
    on_expression(targets[0]).result = True
    statement = ast.Assign([ast.Tuple(targets, ast.Store())], code)
    if direct and param.owner != PARAMS:
        if param.owner not in scope.turning:
            raise _out_of_reach(
                "a module that is an argument changes its buffers; "
                "call it in a method of its parent",
                scope,
                node,
            )
        on_statement(statement).updates = param.owner
    scope.emit(statement)
    if direct:
        scope.stateful |= param.owner == PARAMS
    else:
        store(params, syntax.name(changed), scope, node)
    return syntax.name(result)


def _with(param: Param, new: ast.expr) -> ast.expr:
    """Return the params of the owner with a new part."""
    return param_paths.replaced(param.path, syntax.name(param.owner), new, present=True)


def _joined(param: Param, new: ast.expr, scope: Scope) -> bool:
    """Add a leaf to the statement before, if that gives the same dict new leaves too."""
    if len(param.path) != 1 or isinstance(param.path[0], int) or not scope.body:
        return False
    before = param_paths.new_params(scope.body[-1])
    if not isinstance(before, ast.Dict) or not before.keys or before.keys[0] is not None:
        return False
    if PARAMS in syntax.names_in(new):
        return False
    before.keys.append(syntax.constant(param.path[0]))
    before.values.append(copy.deepcopy(new))
    return True
