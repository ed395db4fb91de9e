"""Find the constants in which two copies of a function, or two iterations of a loop, differ.

Both copies get the same options first: the calls `F.conv2d(x, w)` and `F.conv2d(x, w, stride=2)`
differ in one constant once the first call has `stride=1`.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from typing import Any

from jaxgrad.parity.port.ir import Form, Number
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.unify import Hole, Unified, unify


def constants(left: Any, right: Any) -> list[Hole] | None:
    """Return the constants in which two trees differ once both name the same options, or None."""
    unified = with_constants(left, right)
    return None if unified is None else unified.holes


def with_constants(left: Any, right: Any) -> Unified | None:
    """Unify two trees, in which calls get the same options, with a hole for each constant."""
    return _unified(*aligned(left, right))


def _unified(left: Any, right: Any) -> Unified | None:
    """Unify two trees with a hole where a number or a key of the params differs."""
    if numbers.of(right) is not None:
        if numbers.is_keyword(left):
            return Unified(left, [(left, right)])
        if numbers.of(left) is not None:
            return _numbers(left, right)
    unified = unify(left, right, _unified)
    if unified is None and isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript):
        if is_text(right.slice) and (is_text(left.slice) or numbers.is_keyword(left.slice)):
            base = _unified(left.value, right.value)
            return base and Unified(left, [*base.holes, (left.slice, right.slice)])
    return unified


def _numbers(left: ast.expr, right: ast.expr) -> Unified:
    """Unify two numbers: formulas where they differ in a number, and all others as a whole."""
    if syntax.same(left, right):
        return Unified(left, [])
    are_formulas = numbers.is_formula(left) and numbers.is_formula(right)
    unified = unify(left, right, _unified) if are_formulas else None
    return unified or Unified(left, [(left, right)])


def is_text(node: Any) -> bool:
    """Return whether a node is a key of the params."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def keyword_of(node: ast.AST) -> str:
    """Return the name of the keyword that a constant becomes, or "" if it has no name."""
    number = on_expression(node).number
    return "" if number is None else number.keyword


# -- options that a call leaves out ----------------------------------------------------------------


def aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Return copies of two trees in which calls of one function have the same keywords."""
    left, right = copy.deepcopy(left), copy.deepcopy(right)
    _align(left, right)
    return left, right


def _align(left: Any, right: Any) -> None:
    if isinstance(left, list) and isinstance(right, list):
        if len(left) == len(right):
            for a, b in zip(left, right, strict=True):
                _align(a, b)
    elif isinstance(left, ast.AST) and type(left) is type(right):
        if isinstance(left, ast.Call) and syntax.same(left.func, right.func):
            _fill(left, right)
        for field in left._fields:
            _align(getattr(left, field, None), getattr(right, field, None))


def _fill(left: ast.Call, right: ast.Call) -> None:
    """Write the options that one of two calls leaves out."""
    parameters = {name: p.default for name, p in syntax.parameters_of(left).items()}
    for one, other in ((left, right), (right, left)):
        have = {k.arg for k in one.keywords}
        for keyword in other.keywords:
            default = parameters.get(keyword.arg or "")
            if keyword.arg not in have and isinstance(default, int | float):
                number = Number(default, keyword.arg or "", form=Form.OMITTED)
                one.keywords.append(ast.keyword(keyword.arg, numbers.numeral(number)))
    for call in (left, right):
        call.keywords.sort(key=lambda k: _place(k.arg, parameters))
        for keyword in call.keywords:
            number = numbers.of(keyword.value)
            if number is not None and keyword.arg and not number.name:
                new = dataclasses.replace(number, name=keyword.arg)
                numbers.annotated(keyword.value, new)


def _place(name: str | None, parameters: dict[str, Any]) -> tuple[int, str]:
    """Return where a keyword is in a call; those of a function of the port are in any one order."""
    order = list(parameters)
    return (order.index(name) if name in order else -1), name or ""


def is_omitted(node: ast.AST) -> bool:
    """Return whether a constant is the default of an option that the call leaves out."""
    number = on_expression(node).number
    return number is not None and number.form is Form.OMITTED


def without_omitted(node: ast.AST) -> None:
    """Remove the options that `aligned` added to calls."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            inner.keywords = [k for k in inner.keywords if not is_omitted(k.value)]
