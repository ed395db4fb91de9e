"""Let two copies of a function name the same options: one that a call leaves out has its default.

A call `F.conv2d(x, w)` and a call `F.conv2d(x, w, stride=2)` differ in a constant once the first
one is written with `stride=1`. `without_defaults` leaves such constants out again.
"""

from __future__ import annotations

import ast
import copy
import inspect
from typing import Any

from jaxgrad import functional
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression


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
                constant = syntax.literal(default)
                on_expression(constant).default = True
                one.keywords.append(ast.keyword(keyword.arg, constant))
    for call in (left, right):
        call.keywords.sort(key=lambda k: _place(k.arg, parameters))
        for keyword in call.keywords:
            if keyword.arg and isinstance(keyword.value, ast.Constant):
                known = on_expression(keyword.value)
                known.origin = known.origin or keyword.arg


def _place(name: str | None, parameters: dict[str, Any]) -> tuple[int, str]:
    """Return where a keyword is in a call; those of a function of the port are in any one order."""
    order = list(parameters)
    return (order.index(name) if name in order else -1), name or ""


def is_default(node: ast.AST) -> bool:
    """Return whether `aligned` wrote a constant."""
    return on_expression(node).default


def _parameters(function: str) -> dict[str, Any]:
    """Return the defaults of an operator's arguments."""
    found = getattr(functional, function.removeprefix("F."), None)
    if found is None or not function.startswith("F."):
        return {}
    return {name: p.default for name, p in inspect.signature(found).parameters.items()}


def without_defaults(node: ast.AST) -> None:
    """Leave out the options that `aligned` wrote."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call):
            inner.keywords = [k for k in inner.keywords if not is_default(k.value)]
