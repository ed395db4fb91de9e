"""Constants that a loop changes: `total = 0` before a loop that adds tensors to it.

In the first turn the constant is folded into the statements, in the others the variable is read.
A mark on the constant lets the first turn be written with the variable too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values.kinds_of_values import Folded, Value
from jaxgrad.parity.port.values.scope import Scope


def mark(node: ast.For, scope: Scope) -> dict[str, Folded]:
    """Mark the constants among the variables that a loop assigns, and return them."""
    found: dict[str, Folded] = {}
    for name in sorted({n for x in node.body for n in syntax.assigned(x)}):
        value = scope.values.get(name)
        if isinstance(value, Folded) and value.code is None:
            found[name] = scope.values[name] = copy.copy(value)
            if isinstance(value.real, int | float) and not isinstance(value.real, bool):
                found[name].variable = name
    return found


def changed(before: Mapping[str, Folded], after: Mapping[str, Value]) -> dict[str, Folded]:
    """Return the constants that a turn of the loop has given another value."""
    return {n: x for n, x in before.items() if n not in after or _differs(x, after[n])}


def _differs(before: Folded, after: Value) -> bool:
    if not isinstance(after, Folded) or after.code is not None:
        return True
    return after.real is not before.real and after.real != before.real


def with_variables(
    body: list[ast.stmt], constants: Mapping[str, Folded], scope: Scope
) -> list[ast.stmt]:
    """Return the statements of the first turn, with the variables for their constants."""
    names = {n: scope.local(n) for n, x in constants.items() if x.variable}
    return [_Variables(names).visit(copy.deepcopy(x)) for x in body] if names else body


def start(body: list[ast.stmt], constants: Mapping[str, Folded], scope: Scope) -> None:
    """Emit the first values of the variables that the statements read."""
    read = {n for x in body for n in syntax.names_in(x)}
    for name, value in constants.items():
        local = scope.local(name)
        if value.variable and local in read:
            scope.emit(ast.Assign([ast.Name(local, ast.Store())], syntax.literal(value.real)))


class _Variables(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Constant(self, node: ast.Constant) -> Any:
        local = self.names.get(on_expression(node).variable)
        return node if local is None else syntax.name(local)
