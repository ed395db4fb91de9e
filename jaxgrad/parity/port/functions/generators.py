"""Read a generator function as one that returns the list of what it yields."""

from __future__ import annotations

import ast
import copy
from typing import Any

from jaxgrad.parity.port.source import syntax


def as_list(node: ast.FunctionDef | ast.Lambda) -> ast.FunctionDef | ast.Lambda:
    """Return a function that yields as one that returns a list; any other function as it is.

    The port computes every element, in the order in which torch's program does if it reads all.
    """
    if not isinstance(node, ast.FunctionDef) or not _yields(node):
        return node
    new = copy.deepcopy(node)
    label = syntax.unique("items", syntax.all_names(new))
    changed = _Appending(label)
    new.body = [changed.visit(x) for x in new.body]
    first = _placed(ast.Assign([ast.Name(label, ast.Store())], ast.List([], ast.Load())), node)
    last = _placed(ast.Return(ast.Name(label, ast.Load())), node)
    new.body = [first, *new.body, last]
    return new


def _yields(node: ast.FunctionDef) -> bool:
    """Return whether the statements of a function yield, and nothing reads what is sent."""
    own = [n for x in node.body for n in _own(x)]
    alone = {n.value for n in own if isinstance(n, ast.Expr)}
    yields = [n for n in own if isinstance(n, ast.Yield | ast.YieldFrom)]
    return bool(yields) and all(n in alone for n in yields)


def _own(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return []
    return [node, *(n for inner in ast.iter_child_nodes(node) for n in _own(inner))]


class _Appending(ast.NodeTransformer):
    def __init__(self, label: str) -> None:
        self.label = label

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if not isinstance(node.value, ast.Yield | ast.YieldFrom):
            return node
        method = "append" if isinstance(node.value, ast.Yield) else "extend"
        value = node.value.value or syntax.constant(None)
        call = syntax.call(syntax.attribute(syntax.name(self.label), method), value)
        return _placed(ast.Expr(call), node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return _placed(ast.Return(syntax.name(self.label)), node)


def _placed(new: Any, old: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(new, old))
