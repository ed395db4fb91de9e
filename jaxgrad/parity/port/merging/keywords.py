"""Write a keyword in the place of a number, and the number where the keyword is passed."""

from __future__ import annotations

import ast
import builtins
import copy
from typing import Any

from jaxgrad.parity.port.source import authors, syntax
from jaxgrad.parity.port.source.annotations import on_expression


def keyword_name(origin: str) -> str:
    """Return the name of a keyword: that of the attribute, unless it is one of Python's."""
    return f"{origin}_value" if hasattr(builtins, origin) else origin


def keyword(name: str) -> ast.Name:
    """Return the name of a keyword where the function reads it."""
    code = syntax.name(name)
    on_expression(code).keyword = True
    return code


def as_passed(code: ast.expr) -> Any:
    """Return a number for a call, which has the constants of the file but no attributes."""

    def chosen(author: authors.Author) -> ast.expr | None:
        is_global = author.kind == authors.GLOBAL
        return authors.mark(copy.deepcopy(author.number), author) if is_global else None

    return authors.written(copy.deepcopy(code), chosen)


class Replace(ast.NodeTransformer):
    """Put keywords in the places of numbers: the number's id -> the keyword."""

    def __init__(self, targets: dict[int, str]) -> None:
        self.targets = targets

    def visit(self, node: ast.AST) -> Any:
        if id(node) in self.targets:
            return keyword(self.targets[id(node)])
        return self.generic_visit(node)
