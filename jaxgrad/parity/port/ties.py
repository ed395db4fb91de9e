"""Tied weights: one leaf of the params, which the entry puts in its second place too."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from jaxgrad.parity.port import syntax
from jaxgrad.parity.port.scope import Written


def with_ties(
    functions: Sequence[Written], entry: Written, ties: Mapping[str, str]
) -> list[Written]:
    """Return the functions, with statements in the entry that put tied leaves in place."""
    if not ties:
        return list(functions)
    statements: list[ast.stmt] = []
    for alias, first in ties.items():
        value = _reach(first.split("."))
        code = _tied(alias.split("."), syntax.name("p"), value)
        statement = ast.Assign([ast.Name("p", ast.Store())], code)
        statement.__dict__["trailing"] = "# tied"
        statements.append(statement)
    entry.node.body[:0] = statements
    return list(functions)


def _key(part: str) -> int | str:
    return int(part) if part.isdigit() else part


def _reach(parts: Sequence[str]) -> ast.expr:
    code: ast.expr = syntax.name("p")
    for part in parts:
        code = syntax.item(code, _key(part))
    return code


def _tied(parts: Sequence[str], base: ast.expr, value: ast.expr) -> ast.expr:
    """Return `base` with a value at a path; what else is at the path is kept."""
    if not parts:
        return value
    first, *rest = parts
    if first.isdigit():
        index = int(first)
        inner = _tied(rest, syntax.item(base, index), value)
        before = ast.Starred(
            ast.Subscript(base, ast.Slice(None, syntax.constant(index)), ast.Load()), ast.Load()
        )
        after = ast.Starred(
            ast.Subscript(base, ast.Slice(syntax.constant(index + 1)), ast.Load()), ast.Load()
        )
        return ast.List([before, inner, after], ast.Load())
    if rest:
        nested = syntax.call(
            syntax.attribute(base, "get"), syntax.constant(first), ast.Dict([], [])
        )
        inner = _tied(rest, nested, value)
    else:
        inner = value
    return ast.Dict([None, syntax.constant(first)], [base, inner])


def _part(base: ast.expr, piece: ast.Slice) -> ast.Starred:
    return ast.Starred(ast.Subscript(base, piece, ast.Load()), ast.Load())
