"""Paths in the tree of params: `p["layers"][0]`, and the tree with another value there.

Each function has the params of its module in the variable `p`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source.syntax import attribute, call, constant, item, name


PARAMS = "p"


def params() -> ast.Name:
    """Return the params of a function."""
    return name(PARAMS)


def is_params(code: ast.AST | None) -> bool:
    """Return whether an expression is the params of a function."""
    return isinstance(code, ast.Name) and code.id == PARAMS


def assigned(value: ast.expr) -> ast.Assign:
    """Return `p = value`."""
    return ast.Assign([ast.Name(PARAMS, ast.Store())], value)


def new_params(statement: ast.stmt) -> ast.expr | None:
    """Return the value of `p = value`, and None for another statement."""
    if isinstance(statement, ast.Assign) and is_params(statement.targets[0]):
        return statement.value
    return None


def of(code: ast.expr) -> Param:
    """Return the part of the params that `p["layers"][0]` is.

    The owner is "" if the expression does not begin with a variable.
    """
    path: list[str | int] = []
    while isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Constant):
        path.insert(0, code.slice.value)  # pyright: ignore[reportArgumentType]
        code = code.value
    return Param(tuple(path), code.id if isinstance(code, ast.Name) else "")


def keys_of(path: str) -> list[int | str]:
    """Return the keys of a path in the params; digits are places in lists."""
    return [int(part) if part.isdigit() else part for part in path.split(".")]


def reach(path: str, base: ast.expr | None = None) -> ast.expr:
    """Return the expression of a tensor by its path in the params, or below `base`."""
    code: ast.expr = base or params()
    for key in keys_of(path):
        code = item(code, key)
    return code


def replaced(
    parts: Sequence[int | str], base: ast.expr, value: ast.expr, *, present: bool = False
) -> ast.expr:
    """Return `base` with a value at a path; what else is at the path is kept.

    Args:
        parts: The keys of the path; numbers are places in lists.
        base: The expression of a tree.
        value: The expression of the new value.
        present: Whether every part of the path is known to be in the tree.
    """
    if not parts:
        return value
    first, *rest = parts
    if isinstance(first, int):
        inner = replaced(rest, item(base, first), value, present=present)
        before = [_part(base, ast.Slice(None, constant(first)))] if first else []
        after = _part(base, ast.Slice(constant(first + 1)))
        return ast.List([*before, inner, after], ast.Load())
    if rest and present:
        inner = replaced(rest, item(base, first), value, present=present)
    elif rest:
        get = attribute(base, "get")
        inner = replaced(rest, call(get, constant(first), ast.Dict([], [])), value)
    else:
        inner = value
    return ast.Dict([None, constant(first)], [base, inner])


def _part(base: ast.expr, piece: ast.Slice) -> ast.Starred:
    return ast.Starred(ast.Subscript(base, piece, ast.Load()), ast.Load())
