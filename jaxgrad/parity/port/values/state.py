"""Buffers that a forward pass changes: the function returns its params with the new ones.

`p = {**p, "running_mean": new}` stands for torch's change in place; a function in which this
happens returns `(result, p)`, and so does every function that calls it.
"""

from __future__ import annotations

import ast
import copy

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement
from jaxgrad.parity.port.source.refusals import OutOfReach, PortError
from jaxgrad.parity.port.values import param_paths
from jaxgrad.parity.port.values.kinds_of_values import Value
from jaxgrad.parity.port.values.scope import Scope, Store


def is_leaf(code: ast.expr | None) -> bool:
    """Return whether an expression is a tensor of the params."""
    return isinstance(code, ast.Subscript) and on_expression(code).siblings is not None


def store(place: ast.expr, new: ast.expr, scope: Scope, node: ast.AST) -> None:
    """Put a new value in the params of the function, at the place of an expression."""
    _drop_earlier(place, scope)
    statement: ast.stmt | None = None
    if scope.run.classes is not None:
        statement = ast.Assign([copy.deepcopy(place)], new)
    else:
        root, keys = path_of(place)
        if root == "p":
            scope.stateful = True
            if not _joined(keys, new, scope):
                code = _at(keys, syntax.name("p"), new)
                statement = ast.Assign([ast.Name("p", ast.Store())], code)
        elif root in scope.turning:
            statement = updating(root, _at(keys, syntax.name(root), new))
        else:
            raise _out_of_reach("a buffer of a module that is an argument is changed", scope, node)
    if statement is not None:
        scope.emit(statement)
    scope.stores.append(Store(place, new, statement))


def _drop_earlier(place: ast.expr, scope: Scope) -> None:
    """Drop the statement that has put a value in the same place, if nothing has read it there."""
    last = scope.stores[-1] if scope.stores else None
    if last is None or len(scope.body) < 2 or scope.body[-2] is not last.statement:
        return
    if syntax.same(last.place, place) and path_of(place)[0] not in syntax.names_in(scope.body[-1]):
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
    root, keys = path_of(params)
    label = str(keys[-1]) if keys and isinstance(keys[-1], str) else "module"
    result = scope.fresh(f"{label}_out") if value.real is not None else "_"
    direct = not keys
    changed = root if direct else scope.fresh(label)
    targets: list[ast.expr] = [ast.Name(n, ast.Store()) for n in (result, changed)]
    on_expression(targets[0]).result = True
    statement = ast.Assign([ast.Tuple(targets, ast.Store())], code)
    if direct and root != "p":
        if root not in scope.turning:
            raise _out_of_reach("a module that is an argument changes its buffers", scope, node)
        on_statement(statement).updates = root
    scope.emit(statement)
    if direct:
        scope.stateful |= root == "p"
    else:
        store(params, syntax.name(changed), scope, node)
    return syntax.name(result)


def path_of(place: ast.expr) -> tuple[str, list[str | int]]:
    """Return the name and the keys of `p["a"][0]`."""
    keys: list[str | int] = []
    while isinstance(place, ast.Subscript) and isinstance(place.slice, ast.Constant):
        keys.insert(0, place.slice.value)  # pyright: ignore[reportArgumentType]
        place = place.value
    return (place.id if isinstance(place, ast.Name) else ""), keys


def _at(keys: list[str | int], base: ast.expr, new: ast.expr) -> ast.expr:
    return param_paths.replaced(keys, base, new, present=True)


def _joined(keys: list[str | int], new: ast.expr, scope: Scope) -> bool:
    """Add a leaf to the statement before, if that gives the same dict new leaves too."""
    if len(keys) != 1 or isinstance(keys[0], int) or not scope.body:
        return False
    last = scope.body[-1]
    if not (isinstance(last, ast.Assign) and isinstance(last.value, ast.Dict)):
        return False
    target, made = last.targets[0], last.value
    if not (
        isinstance(target, ast.Name) and target.id == "p" and made.keys and made.keys[0] is None
    ):
        return False
    if "p" in syntax.names_in(new):
        return False
    made.keys.append(syntax.constant(keys[0]))
    made.values.append(copy.deepcopy(new))
    return True
