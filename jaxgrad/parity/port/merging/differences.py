"""The constants in which two copies of a function, or two turns of a loop, differ."""

from __future__ import annotations

import ast
from typing import Any

from jaxgrad.parity.port.merging.defaults import aligned
from jaxgrad.parity.port.source import authors, syntax
from jaxgrad.parity.port.source.annotations import on_expression


Place = tuple[ast.expr, ast.expr]  # where the base has one constant and the copy another


def constants(left: Any, right: Any) -> list[Place] | None:
    """Return the constants in which two trees differ once both name the same options, or None."""
    return differences(*aligned(left, right))


def differences(left: Any, right: Any) -> list[Place] | None:
    """Return the constants in which two trees differ, or None if something else differs."""
    if isinstance(left, list):
        return _of_lists(left, right) if isinstance(right, list) else None
    if _is_negative(left) and _is_negative(right):
        return differences(left.operand, right.operand)
    if _is_keyword(left) and is_number(right):
        return [(left, right)]
    if authors.is_formula(left) and authors.is_formula(right):
        inner = differences(_fields(left), _fields(right)) if type(left) is type(right) else None
        return [(left, right)] if inner is None else inner
    if is_number(left) and is_number(right):
        return [] if syntax.same(left, right) else [(left, right)]
    if type(left) is not type(right):
        return None
    if isinstance(left, ast.Constant):
        return [] if left.value == right.value else None
    is_place = isinstance(left, ast.Subscript) and is_text(right.slice)
    if is_place and (is_text(left.slice) or _is_keyword(left.slice)):
        places = differences(left.value, right.value)
        same = syntax.same(left.slice, right.slice)
        return places if same or places is None else [*places, (left.slice, right.slice)]
    if isinstance(left, ast.AST):
        return differences(_fields(left), _fields(right))
    return [] if left == right else None


def _of_lists(left: list[Any], right: list[Any]) -> list[Place] | None:
    if len(left) != len(right):
        return None
    inner = [differences(a, b) for a, b in zip(left, right, strict=True)]
    places = [x for x in inner if x is not None]
    return None if len(places) < len(inner) else [place for x in places for place in x]


def _fields(node: ast.AST) -> list[Any]:
    return [getattr(node, name, None) for name in node._fields if name != "ctx"]


def _is_keyword(node: Any) -> bool:
    return isinstance(node, ast.Name) and on_expression(node).keyword


def is_number(node: Any) -> bool:
    """Return whether a node is a number, or the size of an array that is written as one."""
    if isinstance(node, ast.AST) and (on_expression(node).number or authors.is_formula(node)):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def is_text(node: Any) -> bool:
    """Return whether a node is a key of the params."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_negative(node: Any) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def origin_of(node: ast.AST) -> str:
    """Return the name of the attribute or the option that a number comes from."""
    author = authors.of(node)
    if author is not None and author.kind == authors.GLOBAL and author.local:
        return author.local
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return authors.variable(on_expression(inner).origin)
