"""Remove what a function of the port does not need: names that nothing reads."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxgrad.parity.port.source import syntax


def cleaned(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements without assignments that are never read."""
    body = [s for s in body if not _is_trivial(s)]
    while True:
        reads = Counter(name for s in body for name in _reads(s))
        for statement in ast.walk(ast.Module(body, [])):
            if _is_append(statement):
                reads[_appended(statement)] -= 1
        kept = _kept(body, reads)
        if _count(kept) == _count(body):
            return kept
        body = kept


def _reads(node: ast.AST) -> Iterator[str]:
    """Yield the variables that a statement reads; a nested function has variables of its own."""
    own: set[str] = set()
    if isinstance(node, ast.FunctionDef):
        own = (syntax.assigned(node) - syntax.nonlocals(node)) | {a.arg for a in node.args.args}
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    for inner in ast.iter_child_nodes(node):
        yield from (name for name in _reads(inner) if name not in own)


def _count(body: list[ast.stmt]) -> int:
    return sum(isinstance(n, ast.stmt) for s in body for n in ast.walk(s))


def _kept(body: list[ast.stmt], reads: Counter[str]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.Assign) and not _is_read(statement.targets[0], reads):
            continue
        if _is_append(statement) and reads[_appended(statement)] <= 0:
            continue
        if isinstance(statement, ast.For):
            statement.body = _kept(statement.body, reads)
            if not statement.body:
                continue
        found.append(statement)
    return found


def _is_read(target: ast.expr, reads: Counter[str]) -> bool:
    if isinstance(target, ast.Name):
        return reads[target.id] > 0
    if isinstance(target, ast.Tuple):
        return any(_is_read(x, reads) for x in target.elts)
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        return reads[target.value.id] > 0
    return True


def _is_append(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr in ("append", "extend")
        and isinstance(node.value.func.value, ast.Name)
    )


def _appended(node: ast.AST) -> str:
    return node.value.func.value.id  # pyright: ignore[reportAttributeAccessIssue]


def _is_trivial(statement: ast.stmt) -> bool:
    """Return whether a statement is `x = x`, or an assertion about constants."""
    if isinstance(statement, ast.Assert):
        return not syntax.names_in(statement.test)
    if not isinstance(statement, ast.Assign):
        return False
    target, value = statement.targets[0], statement.value
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id == value.id
