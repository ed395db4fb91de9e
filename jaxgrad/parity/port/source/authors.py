"""Mark the numbers of an expression for which the torch program has a name.

The port writes `self.head_dim**-0.5` as the author does, with a keyword `head_dim`, or as its value
where the name cannot be used.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.source.annotations import Author, on_expression


ATTRIBUTE, ARGUMENT, GLOBAL, FORMULA = "attribute", "argument", "global", "formula"


def mark(code: ast.expr, author: Author) -> ast.expr:
    on_expression(code).author = author
    return code


def of(node: Any) -> Author | None:
    """Return what the torch program has in the place of a number."""
    return on_expression(node).author if isinstance(node, ast.AST) else None


def is_formula(node: Any) -> bool:
    author = of(node)
    return author is not None and author.kind == FORMULA


def has_name(code: ast.expr) -> bool:
    """Return whether the torch program names a number in an expression."""
    return any(of(n) is not None for n in ast.walk(code))


def variable(name: str) -> str:
    """Return the name of a variable for an attribute or constant: `heads` for `_heads`, `HEADS`."""
    return (name.lower() if name.isupper() else name).strip("_")


def written(code: ast.AST, chosen: Callable[[Author], ast.expr | None]) -> Any:
    """Return code with names for the numbers that get one.

    A formula of which a number gets no name is written as its value, unless a keyword is in it.

    Args:
        code: The code, which is changed.
        chosen: Returns what is written for a number, or None for the number itself.
    """
    return _Write(chosen).visit(code)


class _Write(ast.NodeTransformer):
    def __init__(self, chosen: Callable[[Author], ast.expr | None]) -> None:
        self.chosen = chosen

    def visit(self, node: ast.AST) -> ast.AST:
        author = of(node)
        if author is None:
            return self.generic_visit(node)
        assert isinstance(node, ast.expr)
        if author.kind != FORMULA:
            new = self.chosen(author)
            on_expression(node).author = None
            return node if new is None else new
        has_keyword = any(on_expression(n).keyword for n in ast.walk(node))
        leaves = [x for n in ast.walk(node) if (x := of(n)) and x.kind != FORMULA]
        if not has_keyword and any(self.chosen(x) is None for x in leaves):
            return copy.deepcopy(author.number)
        new = self.chosen(author)
        return self.generic_visit(node) if new is None else new
