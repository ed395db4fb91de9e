"""Leave out what a function returns beside its results: `return x, None` becomes `return x`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.source.written import Written


def without_constant_results(functions: Sequence[Written]) -> list[Written]:
    """Return the functions without results that are constants and that no caller reads."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and not written.pinned:
            _shorten(written.node, written.name, functions)
    return list(functions)


def _shorten(function: ast.FunctionDef, name: str, functions: Sequence[Written]) -> None:
    """Leave constants out of the tuples that a function returns, and out of its callers."""
    results = [r.value for r in _returns(function.body)]
    targets = _targets(name, functions)
    tuples = [x for x in (*results, *targets) if isinstance(x, ast.Tuple)]
    if not targets or len(tuples) < len(results) + len(targets):
        return
    if len({len(x.elts) for x in tuples}) != 1:
        return
    kept = [n for n, parts in enumerate(zip(*(x.elts for x in tuples), strict=True))
            if not all(map(_is_nothing, parts))]  # fmt: skip
    if not kept or len(kept) == len(tuples[0].elts):
        return
    for part in tuples:
        part.elts = [part.elts[n] for n in kept]
    if len(kept) == 1:
        for node in [n for w in functions for n in ast.walk(w.node)]:
            if isinstance(node, ast.Return) and node.value in results:
                node.value = node.value.elts[0]  # pyright: ignore[reportOptionalMemberAccess, reportAttributeAccessIssue]
            elif isinstance(node, ast.Assign) and node.targets[0] in targets:
                node.targets[0] = node.targets[0].elts[0]  # pyright: ignore[reportAttributeAccessIssue]


def _returns(body: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Yield the statements that return from a function, not from one inside of it."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
        elif not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for block in ("body", "orelse"):
                yield from _returns(getattr(statement, block, []))


def _targets(name: str, functions: Sequence[Written]) -> list[ast.expr]:
    """Return what the results of a function are assigned to; nothing if it is used otherwise."""
    nodes = [n for w in functions for n in ast.walk(w.node)]
    uses = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
    found = [
        n.targets[0]
        for n in nodes
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        if isinstance(n.value.func, ast.Name) and n.value.func.id == name
    ]
    return found if len(found) == len(uses) else []


def _is_nothing(part: ast.expr) -> bool:
    """Return whether a result is a constant, or its place at a caller is `_`."""
    return isinstance(part, ast.Constant) or (isinstance(part, ast.Name) and part.id == "_")
