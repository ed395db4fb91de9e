"""Give a container a name before its elements are read, if calls make it.

`f(*self.pair(x))` becomes `parts = self.pair(x)` and `f(parts[0], parts[1])`: with
`f(self.pair(x)[0], self.pair(x)[1])` a BatchNorm in `pair` would update its buffers twice.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Value, is_dynamic, renamed
from jaxgrad.parity.port.values.values import code_of, tensors_in


AnyValue = TypeVar("AnyValue", bound=Value)


def computed_once(value: AnyValue, scope: Scope, name: str = "parts") -> AnyValue:
    """Return a container that is computed once, however many of its elements are read."""
    if not is_computed(value) or (scope.plain and not tensors_in(value)):
        return value
    count = len(value.items) if isinstance(value, Items) else 0
    return renamed(value, scope.once(code_of(value), name, count))  # pyright: ignore[reportReturnType]


def is_computed(value: Value) -> bool:
    """Return whether calls make a container, and several of its elements are in the port."""
    if value.code is None or not isinstance(value, Items | Fields):
        return False
    parts = value.items if isinstance(value, Items) else value.fields.values()
    return sum(map(is_dynamic, parts)) > 1 and _makes_parts(value.code)


def _makes_parts(code: ast.expr) -> bool:
    if isinstance(code, ast.Tuple):  # whose parts have expressions of their own, but for `*x`
        return any(isinstance(x, ast.Starred) and _makes_parts(x.value) for x in code.elts)
    return has_call(code)


def has_call(code: ast.expr) -> bool:
    return any(isinstance(x, ast.Call | ast.ListComp) for x in ast.walk(code))
