"""Find the constants in which two copies of a function, or two iterations of a loop, differ.

Both copies get the same options first: the calls `F.conv2d(x, w)` and `F.conv2d(x, w, stride=2)`
differ in one constant once the first call has `stride=1`.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
from typing import Any

from jaxgrad import functional
from jaxgrad.parity.port.ir import Form, Number
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression


Place = tuple[ast.expr, ast.expr]  # where the base has one constant and the copy another


def constants(left: Any, right: Any) -> list[Place] | None:
    """Return the constants in which two trees differ once both name the same options, or None."""
    return differences(*aligned(left, right))


def differences(left: Any, right: Any) -> list[Place] | None:
    """Return the constants in which two trees differ, or None if something else differs."""
    if isinstance(left, list):
        return _of_lists(left, right) if isinstance(right, list) else None
    if numbers.of(right) is not None:
        if numbers.is_keyword(left):
            return [(left, right)]
        if numbers.of(left) is not None:
            return _of_numbers(left, right)
    if type(left) is not type(right):
        return None
    if isinstance(left, ast.Constant):
        return [] if left.value == right.value else None
    is_place = isinstance(left, ast.Subscript) and is_text(right.slice)
    if is_place and (is_text(left.slice) or numbers.is_keyword(left.slice)):
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


def _of_numbers(left: ast.expr, right: ast.expr) -> list[Place]:
    """Return the numbers in which two formulas differ, or else the two numbers."""
    if numbers.is_formula(left) and numbers.is_formula(right) and type(left) is type(right):
        places = differences(_fields(left), _fields(right))
        return [(left, right)] if places is None else places
    return [] if syntax.same(left, right) else [(left, right)]


def _fields(node: ast.AST) -> list[Any]:
    return [getattr(node, name, None) for name in node._fields if name != "ctx"]


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
        if isinstance(left, ast.Call) and syntax.text(left.func) == syntax.text(right.func):
            _fill(left, right)
        for field in left._fields:
            _align(getattr(left, field, None), getattr(right, field, None))


def _fill(left: ast.Call, right: ast.Call) -> None:
    """Write the options that one of two calls leaves out."""
    parameters = _parameters(syntax.text(left.func))
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


def _parameters(function: str) -> dict[str, Any]:
    """Return the defaults of an operator's arguments."""
    found = getattr(functional, function.removeprefix("F."), None)
    if found is None or not function.startswith("F."):
        return {}
    return {name: p.default for name, p in inspect.signature(found).parameters.items()}


def without_omitted(node: ast.AST) -> None:
    """Remove the options that `aligned` added to calls."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            inner.keywords = [k for k in inner.keywords if not is_omitted(k.value)]
