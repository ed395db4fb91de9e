"""Interpret the operators of arithmetic on tensors, sizes, numbers and tuples."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port.expressions import conditions, operators
from jaxgrad.parity.port.expressions.displays import joined
from jaxgrad.parity.port.functions.closures import once
from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Folded,
    Items,
    Size,
    Tensor,
    Value,
    is_dynamic,
    size,
)
from jaxgrad.parity.port.values.values import code_of, computed, folded, real_of


def binary_expression(node: ast.BinOp, scope: Scope) -> Value:
    """Return the value of `left op right` of the source."""
    left, right = scope.run.evaluate(node.left, scope), scope.run.evaluate(node.right, scope)
    return binary(node.op, left, right, scope, node)


def binary(op: ast.operator, left: Value, right: Value, scope: Scope, node: ast.AST) -> Value:
    """Return the value of `left op right`."""
    compute = _BINARY[type(op)]
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.binary(op, compute, *operators.scaled(op, left, right, scope))
    if isinstance(left, Items) or isinstance(right, Items):
        if isinstance(real_of(left), set) and not (is_dynamic(left) or is_dynamic(right)):
            return Folded(compute(real_of(left), real_of(right)))
        return _items_binary(op, compute, left, right, scope)
    real = compute(real_of(left), real_of(right))
    is_size = isinstance(left, Size) or isinstance(right, Size)
    same = _unchanged(op, left, right) if is_size or scope.plain else None
    if same is not None:
        return same
    if is_size:
        return size(real, ast.BinOp(code_of(left), op, code_of(right)), left, right)
    if isinstance(real, torch.Tensor):
        raise scope.refuse(
            "a tensor that is made of constants in an operator"
            "; register it as a buffer, and read it there",
            node,
        )
    return computed(real, lambda a, b: ast.BinOp(a, op, b), left, right)


def _unchanged(op: ast.operator, left: Value, right: Value) -> Value | None:
    """Return the number of `size + 0`, `0 + size`, `size - 0`, `size * 1` and `1 * size`."""
    if not isinstance(op, ast.Add | ast.Sub | ast.Mult):
        return None
    neutral = 1 if isinstance(op, ast.Mult) else 0
    if isinstance(right, Folded) and right.code is None and right.real is neutral:
        return left
    turned = isinstance(left, Folded) and left.code is None and left.real is neutral
    return right if turned and not isinstance(op, ast.Sub) else None


def _items_binary(
    op: ast.operator, compute: Callable[..., Any], left: Value, right: Value, scope: Scope
) -> Value:
    sides = [
        x if isinstance(x, Items) else Items(type(x.real), None, [Folded(y) for y in x.real])
        if isinstance(x.real, list | tuple) else x for x in (left, right)
    ]  # fmt: skip
    codes = ast.BinOp(code_of(left), op, code_of(right)) if any(map(is_dynamic, sides)) else None
    one, other = sides
    if isinstance(one, Items) and isinstance(other, Items):
        if one.real is tuple or one.counted or other.counted:
            return joined(one.real, one, other)
        parts = [computed_once(x, scope) for x in (one, other)]
        return Items(one.real, None, [y for x in parts for y in _elements(x)])
    items = one if isinstance(one, Items) else other
    assert isinstance(items, Items)
    number = real_of(other if items is one else one)
    again = compute(list(range(len(items.items))), number)
    counted = items.counted or isinstance(other, Size) or isinstance(one, Size)
    if not counted and len(again) > len(items.items):
        parts = [once("item", x, scope) for x in _elements(computed_once(items, scope))]
        items = Items(items.real, None, parts)
    return Items(items.real, codes if counted else None, [items.at(n) for n in again], counted)


def _elements(value: Value) -> list[Value]:
    assert isinstance(value, Items)
    return [value.at(n) for n in range(len(value.items))]


def unary_expression(node: ast.UnaryOp, scope: Scope) -> Value:
    """Return the value of `not x`, `-x`, `+x` or `~x`."""
    value = scope.run.evaluate(node.operand, scope)
    if isinstance(node.op, ast.Not):
        if isinstance(value, Size):
            return size(not value.real, syntax.negated(code_of(value)), value)
        if (
            isinstance(value, Tensor)
            and value.real.numel() == 1
            and not conditions.is_fixed_test(value)
        ):
            code = syntax.computing("logical_not", syntax.call("jnp.logical_not", code_of(value)))
            return Tensor(~value.real.bool(), code)
        return Folded(not conditions.truth(value, node.operand, scope))
    if isinstance(value, Tensor):
        return operators.unary(node.op, value)
    real = _UNARY[type(node.op)](real_of(value))
    if is_dynamic(value):
        return size(real, ast.UnaryOp(node.op, code_of(value)), value)
    if not isinstance(node.op, ast.USub):
        return folded(real)
    new = computed(real, lambda x: ast.UnaryOp(node.op, x), value)
    known = value.number if isinstance(value, Folded) else None
    return new if known is None else new.named(known.name, NameOf.FORMULA)


_BINARY: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.MatMult: operator.matmul, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], Callable[..., Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
