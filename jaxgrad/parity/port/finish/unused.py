"""Write `_` for a part of a tuple that nothing reads: `out, (h, _) = lstm(p["lstm"], x)`.

A loop that does not read its number does not count: `for block in p["blocks"]:`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written


def without_unused_names(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with `_` for each unpacked name that the function does not read."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            read = set(syntax.names_in(written.node))
            for name in _unpacked(written.node):
                if name.id not in read:
                    name.id = "_"
            for loop in ast.walk(written.node):
                if isinstance(loop, ast.For):
                    _without_number(loop, read)
    return list(functions)


def _unpacked(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """Yield each name to which a tuple is unpacked by an assignment."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            inner = ast.walk(node.targets[0])
            yield from (
                n for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )


def _without_number(loop: ast.For, read: set[str]) -> None:
    """Write `for x in xs` for `for n, x in enumerate(xs)`, if nothing reads `n`."""
    target, counted = loop.target, loop.iter
    if not isinstance(target, ast.Tuple) or not syntax.calls(counted, Helper.ENUMERATE):
        return
    number, *rest = target.elts
    if isinstance(number, ast.Name) and number.id not in read:
        loop.target, loop.iter = rest[0], counted.args[0]
