"""Unify two trees of code: they share a template, which has a hole where they differ."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgrad.parity.port.source import numbers, syntax


Hole = tuple[ast.expr, ast.expr]  # what the first tree has in a hole, and what the second one has


class Unified(NamedTuple):
    """Two trees as one.

    Attributes:
        template: The tree; what the first one has in a hole is in it.
        holes: The holes, in the order of the template.
    """

    template: Any
    holes: list[Hole]


Rule = Callable[[Any, Any], Unified | None]


def unify(left: Any, right: Any, rule: Rule) -> Unified | None:
    """Unify the parts of two trees; None if a pair of parts cannot be unified.

    Args:
        left: A tree, a list of trees, or a field of one that is neither.
        right: Another one.
        rule: Unifies a pair of parts. It decides what is a hole, and returns `unify` of all others.
    """
    if type(left) is not type(right) or (isinstance(left, list) and len(left) != len(right)):
        return None
    if isinstance(left, list):
        pairs = list(zip(left, right, strict=True))
    elif isinstance(left, ast.AST):
        pairs = [(getattr(left, f, None), getattr(right, f, None)) for f in left._fields]
    else:
        return Unified(left, []) if left == right else None
    parts: list[Any] = []
    holes: list[Hole] = []
    for one, other in pairs:
        unified = Unified(None, []) if one is other is None else rule(one, other)
        if unified is None:
            return None
        parts.append(unified.template)
        holes += unified.holes
    if isinstance(left, list):
        return Unified(parts, holes)
    template = copy.copy(left)
    for field, part in zip(left._fields, parts, strict=True):
        setattr(template, field, part)
    return Unified(template, holes)


def literals(left: Any, right: Any) -> Unified | None:
    """Unify two trees with a hole for each number and each flag, even where both have the same.

    The parameters of functions have no holes.
    """
    if isinstance(left, ast.arguments) and isinstance(right, ast.arguments):
        return Unified(left, []) if syntax.same(left, right) else None
    kinds = [(numbers.is_literal(x), numbers.is_flag(x)) for x in (left, right)]
    if any(map(any, kinds)):
        return Unified(left, [(left, right)]) if kinds[0] == kinds[1] else None  # pyright: ignore[reportArgumentType]
    return unify(left, right, literals)
