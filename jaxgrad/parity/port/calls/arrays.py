"""Numpy arrays that are computed from sizes: the port computes them with the same numpy calls."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import numpy as np
import torch

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.scope import CallSite, Scope, Special
from jaxgrad.parity.port.values.value_types import Folded, Items, Size, Value
from jaxgrad.parity.port.values.values import code_of, is_computed, real_of


def _is_numpy(function: Any) -> bool:
    """Return whether a function is one of numpy's own, such as `np.linspace`."""
    name = getattr(function, "__name__", None)
    return isinstance(name, str) and getattr(np, name, None) is function


def _is_sized(value: Value) -> bool:
    """Return whether a value is made of configuration and sizes alone."""
    if type(value) is Items:
        return all(map(_is_sized, value.items))
    return isinstance(value, Size | Folded)


def call(
    function: Any, args: list[Value], keywords: dict[str, Value], scope: Scope
) -> Value | None:
    """Return the value of a call of numpy on configuration and sizes, or None for any other call.

    The call itself is written if it has a size, or if its array is too large for a literal.
    """
    if not _is_numpy(function) or inspect.isclass(function):
        return None
    given = [*args, *keywords.values()]
    if not all(map(_is_sized, given)):
        return None
    try:
        codes = [code_of(x) for x in args]
        options = {k: code_of(v) for k, v in keywords.items()}
    except PortError:  # an argument has no literal
        return None
    real = function(*map(real_of, args), **{k: real_of(v) for k, v in keywords.items()})
    is_large = isinstance(real, np.ndarray) and real.size > syntax.LARGEST
    if not is_large and not any(map(is_computed, given)):
        return Folded(real)
    return _result(real, syntax.call(f"np.{function.__name__}", *codes, **options), scope)


def _result(real: Any, code: ast.expr, scope: Scope) -> Value:
    """Return the value of a call; one that returns nothing changes an array in place."""
    if real is not None:
        on_expression(code).numpy = True
        return Size(real, code)
    scope.emit(ast.Expr(code))
    return Folded(None)


def call_method(
    owner: Size, name: str, args: list[Value], keywords: dict[str, Value], scope: Scope, node: Any
) -> Value:
    """Return the value of a method of a number or an array, such as `mask.astype(np.uint8)`.

    Raises:
        PortError: An argument is a tensor.
    """
    given = [*args, *keywords.values()]
    if not all(map(_is_sized, given)):
        raise scope.refuse(
            f"`.{name}()` of a number that depends on shapes, with a tensor"
            "; write it with operators",
            node,
        )
    options = {k: real_of(v) for k, v in keywords.items()}
    real = getattr(owner.real, name)(*map(real_of, args), **options)
    method = syntax.attribute(code_of(owner), name)
    codes = {k: code_of(v) for k, v in keywords.items()}
    return _result(real, syntax.call(method, *map(code_of, args), **codes), scope)


def _from_numpy(site: CallSite) -> Value:
    """Interpret `torch.from_numpy(x)`, where x may be a tensor of integers that went to numpy."""
    function = Folded(torch.as_tensor)
    return site.scope.run.call(function, site.args, site.keywords, site.scope, site.node)


def in_numpy(code: ast.expr) -> ast.expr:
    """Return an expression with numpy arrays as constants, because JAX would trace its own."""
    for node in ast.walk(code):
        if syntax.calls(node, Helper.ARRAY):
            node.func = syntax.dotted("np.array")
    return code


SPECIAL: dict[Any, Special] = {torch.from_numpy: _from_numpy}
