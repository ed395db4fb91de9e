"""Python's operators on tensors, which JAX has too."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, named_formula, real_of


def binary(op: ast.operator, compute: Callable[..., Any], left: Value, right: Value) -> Tensor:
    """Return the value of `left op right` if one of them is a tensor."""
    real = compute(real_of(left), real_of(right))
    if isinstance(left, Tensor) and _leaves_as_is(op, left, right):
        return Tensor(real, code_of(left))
    return Tensor(real, binary_code(op, left, right))


def scaled(op: ast.operator, left: Value, right: Value, scope: Scope) -> tuple[Value, Value]:
    """Return the sides of an operator; `q * 8**-0.5` reads the 8 from q, if q has 8 features."""
    if isinstance(op, ast.Mult) and isinstance(left, Tensor):
        return left, _from_features(left, right, scope)
    if isinstance(op, ast.Mult) and isinstance(right, Tensor):
        return _from_features(right, left, scope), right
    if isinstance(op, ast.Div) and isinstance(left, Tensor):
        return left, _from_features(left, right, scope)
    return left, right


def _from_features(tensor: Tensor, number: Value, scope: Scope) -> Value:
    """Return a root of the number of features of an array as code that reads it."""
    formula = None
    if isinstance(number, Folded) and number.code is None and type(number.real) is float:
        if scope.run.classes is not None or named_formula(number) is not None:
            return number  # it has the author's name
        if numbers.is_long(number.real):  # 2.0 is no root of 4 features
            formula = number.formula or numbers.formula_of(number.real)
    if not isinstance(formula, ast.BinOp) or not isinstance(formula.left, ast.Constant):
        return number
    is_root = numbers.is_literal(formula.right) and abs(numbers.value_of(formula.right)) == 0.5
    if not is_root or tensor.code is None:
        return number
    features = formula.left.value
    known = {
        x.code.id: x.real
        for x in scope.values.values()
        if isinstance(x, Tensor) and isinstance(x.code, ast.Name) and x.real.ndim > 1
    }
    for name in syntax.names_in(tensor.code):
        if name in known and known[name].shape[-1] == features:
            size = syntax.item(syntax.shape(syntax.name(name)), -1)
            return Size(number.real, ast.BinOp(size, ast.Pow(), formula.right))
    return number


def _leaves_as_is(op: ast.operator, left: Tensor, right: Value) -> bool:
    """Return whether an operator is `positions + 0` or `positions - 0`, of integers."""
    if not isinstance(op, ast.Add | ast.Sub) or not isinstance(right, Folded):
        return False
    if right.number is not None and right.number.has_author_name:
        return False
    is_integer = left.real.dtype in (torch.int64, torch.int32)
    return is_integer and type(right.real) is int and right.real == 0


def binary_code(op: ast.operator, left: Value, right: Value) -> ast.expr:
    """Return the code of an operator; where JAX's has another gradient, that of a function."""
    if isinstance(op, ast.Pow) and (
        isinstance(right, Tensor) or isinstance(left.real, float | int)
    ):
        return syntax.call_functional("pow", code_of(left), code_of(right))
    if isinstance(op, ast.Mod):
        return syntax.call_functional("remainder", code_of(left), code_of(right))
    return ast.BinOp(code_of(left), op, code_of(right))


def unary(op: ast.unaryop, value: Tensor) -> Tensor:
    real = (
        -value.real
        if isinstance(op, ast.USub)
        else ~value.real
        if isinstance(op, ast.Invert)
        else value.real
    )
    return Tensor(real, ast.UnaryOp(op, code_of(value)))


def compare(op: ast.cmpop, left: Value, right: Value, scope: Scope) -> Tensor:
    real = _COMPARE[type(op)](real_of(left), real_of(right))
    if not isinstance(real, torch.Tensor):
        raise scope.refuse(
            "a comparison of a tensor with something that is not a number"
            "; compare it with a number or a tensor"
        )
    return Tensor(real, ast.Compare(code_of(left), [op], [code_of(right)]))


_COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
IN_PLACE: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul,
    ast.Div: operator.itruediv, ast.FloorDiv: operator.ifloordiv, ast.Mod: operator.imod,
    ast.Pow: operator.ipow, ast.MatMult: operator.imatmul, ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior, ast.BitXor: operator.ixor, ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
}  # fmt: skip
