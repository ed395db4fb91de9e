"""Keep what depends on sizes: the length of a container, or a number that the port has folded.

A container is counted if its length depends on a size, as that of `x.split(2)`. The port computes
with the whole container, or asserts that it has as many elements as in the example.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Items, Size, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def is_counted(value: Value, scope: Scope) -> bool:
    """Return whether the number of elements of a value depends on a size."""
    if isinstance(value, Tensor):
        own = scope.run.module.state_dict(keep_vars=True).values()
        return not any(value.real is tensor for tensor in own)
    return isinstance(value, Items) and value.counted


def count_of(value: Value) -> int:
    return len(value.items) if isinstance(value, Items) else len(value.real)


def require_length(value: Value, scope: Scope, node: ast.AST) -> None:
    """Assert that a counted container has as many elements as in the example."""
    if is_counted(value, scope):
        require_count(code_of(value), count_of(value), scope, node)


def require_count(code: ast.expr, count: int, scope: Scope, node: ast.AST) -> None:
    """Assert the number of elements of an expression, which depends on a size."""
    length = syntax.call("len", code)
    elements = "1 element" if count == 1 else f"{count} elements"
    message = f"this port holds for {elements}, as in the example"
    scope.assume(node, f"{syntax.text(length)} == {count}")
    _assert(ast.Compare(length, [ast.Eq()], [syntax.constant(count)]), message, scope)


def pinned(value: Value, scope: Scope, node: ast.AST) -> Any:
    """Return the number, text or slice of the run, and assert that each size in it is the same.

    A counter of a loop with a fixed number of iterations needs no assertion.
    """
    if scope.run.ranks.fixes(value):
        return real_of(value)
    for code, real in _sizes_in(value):
        if not scope.is_index(code):
            require(_is_still(code, real), scope, node)
    return real_of(value)


def require(test: ast.expr, scope: Scope, node: ast.AST) -> None:
    """Assert a test on sizes, which holds in the example."""
    text = syntax.text(test)
    scope.assume(node, text)
    _assert(test, f"this port holds for {text}, as in the example", scope)


def _is_still(code: ast.expr, real: Any) -> ast.expr:
    """Return the test that an expression is what it is in the run."""
    if isinstance(real, bool):
        return code if real else syntax.negated(code)
    return ast.Compare(code, [ast.Eq()], [syntax.literal(real)])


def _sizes_in(value: Value) -> Iterator[tuple[ast.expr, Any]]:
    """Yield the code of each size in a value, and its number in the run."""
    if isinstance(value, Items | Fields):
        for key in range(len(value.items)) if isinstance(value, Items) else value.fields:
            yield from _sizes_in(value.at(key))
    elif isinstance(value, Size) and isinstance(value.code, ast.Slice):
        bounds = value.code.lower, value.code.upper, value.code.step
        numbers = value.real.start, value.real.stop, value.real.step
        yield from ((c, n) for c, n in zip(bounds, numbers, strict=True) if c is not None)
    elif isinstance(value, Size):
        yield code_of(value), value.real


def _assert(test: ast.expr, message: str, scope: Scope) -> None:
    """Emit an assertion, unless the statement before it is the same one."""
    last = scope.body[-1] if scope.body else None
    if isinstance(last, ast.Assert) and syntax.same(last.test, test):
        return
    scope.emit(ast.Assert(test, syntax.constant(message)))


def depends_on_sizes(value: Value) -> bool:
    """Return whether a number of the port, or one in a container, is computed from shapes."""
    return next(_sizes_in(value), None) is not None


def numbers_of_lists(values: dict[str, Value]) -> dict[int, tuple[Items, int]]:
    """Return each list among variables, and in containers of them, with its length."""
    found: dict[int, tuple[Items, int]] = {}

    def visit(value: Value) -> None:
        if id(value) in found:
            return
        if isinstance(value, Items):
            if value.real is list:
                found[id(value)] = value, len(value.items)
            for part in value.items:
                visit(part)
        elif isinstance(value, Fields):
            for part in value.fields.values():
                visit(part)

    for value in values.values():
        visit(value)
    return found
