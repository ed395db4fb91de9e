"""Constants that a loop changes, such as `total = 0` before a loop that adds tensors to it.

The first iteration has the constant in its statements, later ones read the variable. The constant
keeps the name of its variable, so that the first iteration can be written with the variable too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.numbers import is_number
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Value


def mark(node: ast.For, scope: Scope) -> dict[str, Folded]:
    """Give the constants that a loop assigns the names of their variables, and return them."""
    found: dict[str, Folded] = {}
    for name in sorted({n for x in node.body for n in syntax.assigned(x)}):
        value = scope.values.get(name)
        if isinstance(value, Folded) and value.code is None:
            known = "" if value.number is None else value.number.name
            found[name] = scope.values[name] = value.named(known, NameOf.VARIABLE, name)
    return found


def changed(before: Mapping[str, Folded], after: Mapping[str, Value]) -> dict[str, Folded]:
    """Return the constants whose variables have another value after an iteration."""
    return {n: x for n, x in before.items() if n not in after or _differs(x, after[n])}


def _differs(before: Folded, after: Value) -> bool:
    if not isinstance(after, Folded) or after.code is not None:
        return True
    return after.real is not before.real and after.real != before.real


def with_variables(
    body: list[ast.stmt], constants: Mapping[str, Folded], scope: Scope
) -> list[ast.stmt]:
    """Return the statements of the first iteration, with variables in place of constants."""
    names = {n: scope.local(n) for n, x in constants.items() if is_number(x.real)}
    return [_Variables(names).visit(copy.deepcopy(x)) for x in body] if names else body


def start(body: list[ast.stmt], constants: Mapping[str, Folded], scope: Scope) -> None:
    """Emit the first values of the variables that the statements read."""
    read = {n for x in body for n in syntax.names_in(x)}
    for name, value in constants.items():
        local = scope.local(name)
        if is_number(value.real) and local in read:
            scope.emit(ast.Assign([ast.Name(local, ast.Store())], syntax.literal(value.real)))


class _Variables(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        number = numbers.of(node)
        if number is not None and number.name_of is NameOf.VARIABLE and number.local in self.names:
            return syntax.name(self.names[number.local])
        return self.generic_visit(node)
