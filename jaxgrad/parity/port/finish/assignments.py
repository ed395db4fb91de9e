"""Leave out assignments that a person would not write: values that are overwritten or unpacked."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import has_remarks
from jaxgrad.parity.port.source.written import Written


def with_few_assignments(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without values that nothing reads, and pairs that only get unpacked."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            body = written.node.body
            kept = [
                s for n, s in enumerate(body)
                if has_remarks(s) or not (syntax.is_itself(s) or _is_overwritten(s, body[n + 1 :]))
            ]  # fmt: skip
            written.node.body = _unpacked(kept)
    return list(functions)


def _is_overwritten(statement: ast.stmt, after: Sequence[ast.stmt]) -> bool:
    """Return whether a name gets another value before anything reads this one: `h = x`."""
    if not isinstance(statement, ast.Assign):
        return False
    (target,) = statement.targets
    if not isinstance(target, ast.Name) or not isinstance(statement.value, ast.Name | ast.Constant):
        return False
    for later in after:
        names = [n for n in ast.walk(later) if syntax.is_name(n, target.id)]
        if names:
            stored = all(isinstance(n.ctx, ast.Store) for n in names)
            return stored and isinstance(later, ast.Assign)
    return False


def _unpacked(body: list[ast.stmt]) -> list[ast.stmt]:
    """Write `out, pair = f(x)` and `h, c = pair` as `out, (h, c) = f(x)`."""
    found: list[ast.stmt] = []
    for statement in body:
        before = found[-1] if found else None
        name = _source(statement)
        if name and isinstance(before, ast.Assign) and isinstance(before.targets[0], ast.Tuple):
            parts = before.targets[0].elts
            places = [n for n, x in enumerate(parts) if syntax.is_name(x, name)]
            reads = [n for s in body for n in syntax.names_in(s) if n == name]
            if len(places) == 1 and len(reads) <= 2:
                parts[places[0]] = statement.targets[0]  # pyright: ignore[reportAttributeAccessIssue]
                continue
        found.append(statement)
    return found


def _source(statement: ast.stmt) -> str:
    """Return the name that a statement only unpacks."""
    if not isinstance(statement, ast.Assign) or has_remarks(statement):
        return ""
    is_tuple = isinstance(statement.targets[0], ast.Tuple)
    return statement.value.id if is_tuple and isinstance(statement.value, ast.Name) else ""
