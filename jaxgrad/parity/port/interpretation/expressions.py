"""Interpret an expression of the torch program: run it, and write it as JAX."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port.calls import iteration_calls, memory
from jaxgrad.parity.port.expressions import (
    arithmetic,
    attributes,
    conditions,
    displays,
    indexing,
    positions,
)
from jaxgrad.parity.port.expressions.boolean_expressions import bool_expression
from jaxgrad.parity.port.functions import closures, context_managers, rearranging
from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.loops.comprehensions import comprehension
from jaxgrad.parity.port.source import source, syntax
from jaxgrad.parity.port.values.binding import bind
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.fixed import is_fixed
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Size,
    Tensor,
    TensorMethod,
    Value,
    is_dynamic,
)
from jaxgrad.parity.port.values.values import code_of, folded, real_of, tensors_in


def evaluate(node: ast.expr, scope: Scope) -> Value:
    """Return the value of an expression.

    Raises:
        PortError: It cannot be written in JAX.
    """
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise scope.refuse(
            f"{type(node).__name__} expressions are not ported"
            "; write it with assignments and calls",
            node,
        )
    value = handler(node, scope)
    if isinstance(node, _COMPUTING) and isinstance(value, Tensor):
        rearranging.note_operator(type(node).__name__, scope)
    return value


_COMPUTING = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Subscript  # without a name of torch's


def _constant(node: ast.Constant, _: Scope) -> Value:
    return Folded(node.value)


def _name(node: ast.Name, scope: Scope) -> Value:
    if node.id in scope.values:
        return _fresh(memory.current(scope.values[node.id], scope), node, scope)
    function: Any = scope.source.function
    free = source.free_names(function)
    if node.id in free:
        return attributes.constant_value(free[node.id], node.id, scope)
    try:
        found = source.global_value(function, node.id)
    except KeyError:
        raise scope.refuse(
            f"the name {node.id!r} has no value here; assign it on every path to this line", node
        ) from None
    is_own = node.id.isupper() and not source.is_torch(function)
    name_of = NameOf.GLOBAL if is_own else None
    return attributes.constant_value(found, node.id, scope, name_of=name_of)


def _fresh(value: Value, node: ast.AST, scope: Scope) -> Value:
    if isinstance(value, Tensor) and value.stale:
        raise scope.refuse(value.stale, node)
    return value


def _attribute(node: ast.Attribute, scope: Scope) -> Value:
    return attributes.read(evaluate(node.value, scope), node.attr, scope, node)


def _subscript(node: ast.Subscript, scope: Scope) -> Value:
    return indexing.index(evaluate(node.value, scope), evaluate(node.slice, scope), scope, node)


def _slice(node: ast.Slice, scope: Scope) -> Value:
    parts = [_bound(x, scope) for x in (node.lower, node.upper, node.step)]
    if isinstance(parts[0], Tensor) and node.step is None:
        found = positions.span(node, parts[0], scope)
        if found is not None:
            return found
    real = slice(*(None if x is None else real_of(x) for x in parts))
    if any(isinstance(x, Tensor) for x in parts):
        raise scope.refuse(
            "a slice bound that is a tensor has no fixed size in JAX"
            "; pass the bound as a number, or mask the rest with torch.where",
            node,
        )
    written = ast.Slice(*(None if x is None or x.real is None else code_of(x) for x in parts))
    if not any(x is not None and is_dynamic(x) for x in parts):
        return folded(real, formula=written)
    return Size(real, written)


def _bound(node: ast.expr | None, scope: Scope) -> Value | None:
    """Return a bound of a slice; a tensor of sizes and configuration alone is its number."""
    value = None if node is None else evaluate(node, scope)
    if isinstance(value, Tensor) and is_fixed(value.real) and value.real.numel() == 1:
        scope.assume(node, f"{syntax.text(node)} == {value.real.item()!r}")  # pyright: ignore[reportArgumentType]
        return Folded(value.real.item())
    return value


def _call(node: ast.Call, scope: Scope) -> Value:
    function = evaluate(node.func, scope)
    if function.real in _MESSAGES and isinstance(function, Folded):
        return Folded(None)  # a message about a shape does not bind the port to it
    keywords: dict[str, Value] = {}
    if function.real is zip and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
        rows = evaluate(node.args[0].value, scope)
        columns = iteration_calls.columns(rows, node.keywords, scope)
        if columns is not None:
            return columns
        args = indexing.iterate(rows, scope, node.args[0])
    else:
        args = _arguments(node.args, function, scope)
    for keyword in node.keywords:
        value = evaluate(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Fields):
            value = computed_once(value, scope)
            keywords |= {key: value.at(key) for key in value.fields}
        else:
            keywords |= {key: Folded(x) for key, x in dict(real_of(value)).items()}
    return scope.run.call(function, args, keywords, scope, node)


def _arguments(nodes: list[ast.expr], function: Value, scope: Scope) -> list[Value]:
    """Return the arguments of a call; `x.view(-1, *ones)` passes sizes of any number as a tuple."""
    label = function.real if isinstance(function, TensorMethod) else ""
    if label in _TAKE_SIZES and any(isinstance(x, ast.Starred) for x in nodes):
        sizes = displays.tuple_display(ast.Tuple(nodes, ast.Load()), scope)
        if isinstance(sizes, Items) and (sizes.counted or sizes.code is not None):
            return [sizes]
    return displays.elements(nodes, scope)


_TAKE_SIZES = ("view", "reshape", "expand", "repeat", "permute")
_MESSAGES = (print, warnings.warn)


def _lambda(node: ast.Lambda, scope: Scope) -> Value:
    return closures.define(node, scope)


def _joined_text(node: ast.JoinedStr, scope: Scope) -> Value:
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(part.value, scope)
            parts.append("a tensor" if tensors_in(value) else _formatted(value, part, scope))
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return Folded("".join(parts))


def _formatted(value: Value, part: ast.FormattedValue, scope: Scope) -> str:
    text = _CONVERSIONS.get(part.conversion, lambda x: x)(pinned(value, scope, part))
    form = _joined_text(part.format_spec, scope).real if part.format_spec is not None else ""  # pyright: ignore[reportArgumentType]
    return format(text, form)


_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}


def _named(node: ast.NamedExpr, scope: Scope) -> Value:
    value = evaluate(node.value, scope)
    return bind(node.target.id, value, scope)


def _yield(node: ast.Yield, scope: Scope) -> Value:
    value = Folded(None) if node.value is None else evaluate(node.value, scope)
    return context_managers.yielded(value, scope, node)


_HANDLERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Tuple: displays.tuple_display,
    ast.List: displays.list_display, ast.Set: displays.set_display, ast.Dict: displays.dict_display,
    ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Slice: _slice,
    ast.BinOp: arithmetic.binary_expression, ast.UnaryOp: arithmetic.unary_expression,
    ast.Compare: conditions.comparison, ast.BoolOp: bool_expression,
    ast.IfExp: conditions.if_expression,
    ast.Call: _call, ast.Lambda: _lambda, ast.JoinedStr: _joined_text, ast.NamedExpr: _named,
    ast.Yield: _yield,
    ast.ListComp: comprehension, ast.GeneratorExp: comprehension, ast.SetComp: comprehension,
    ast.DictComp: comprehension,
}  # fmt: skip
