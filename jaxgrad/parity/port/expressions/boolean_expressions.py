"""Interpret `and` and `or`, which skip what Python skips."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Sequence

from jaxgrad.parity.port.expressions import conditions
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor, Value, size
from jaxgrad.parity.port.values.values import code_of


def bool_expression(node: ast.BoolOp, scope: Scope) -> Value:
    """Return the value of `and` or `or`.

    An operand of the configuration is folded. One that depends on a size stays, with those after
    it, because another operand may decide at another size.
    """
    is_and = isinstance(node.op, ast.And)
    before: list[Value] = []  # operands that do not decide, from the first size on
    last: Value = Folded(is_and)
    for number, part in enumerate(node.values):
        last = scope.run.evaluate(part, scope)
        is_last = number == len(node.values) - 1
        if scope.run.ranks.fixes(last):
            last = Folded(last.real)
        if isinstance(last, Tensor) and (not is_last or conditions.is_fixed_test(last)):
            last = Folded(conditions.truth(last, part, scope))
        if isinstance(last, Size):
            before.append(last)
            if bool(last.real) != is_and:
                return _decided(node, before, node.values[number + 1 :], scope)
        elif isinstance(last, Tensor) or conditions.truth(last, part, scope) != is_and:
            return _after_sizes(node, before, last, scope)
        elif before:
            before.append(last)
    return _all(node, before, scope) if before else last


def _all(node: ast.BoolOp, operands: list[Value], scope: Scope) -> Value:
    """Return the last operand, if none of those before it decides."""
    *before, last = operands
    sizes = [x for x in before if isinstance(x, Size)]
    if isinstance(last, Size):
        return _written(node, [*sizes, last])
    if isinstance(last.real, bool) and _are_tests(sizes):
        return _written(node, sizes)
    return _after_sizes(node, sizes, last, scope)


def _after_sizes(node: ast.BoolOp, before: Sequence[Value], last: Value, scope: Scope) -> Value:
    """Return an operand that decides, unless a size before it does at another size."""
    sizes = [x for x in before if isinstance(x, Size)]
    if not sizes or (isinstance(last.real, bool) and _are_tests(sizes)):
        return last  # `size > 3 and False` is False
    if isinstance(last, Folded):
        with contextlib.suppress(PortError):  # a value that has no literal
            return _written(node, [*sizes, last])
    for each in sizes:
        conditions.truth(each, node, scope)
    return last


def _decided(node: ast.BoolOp, operands: list[Value], rest: list[ast.expr], scope: Scope) -> Value:
    """Return the operands up to a size that decides, and those that Python skips here."""
    sizes = [x for x in operands if isinstance(x, Size)]
    skipped = _skipped(rest, scope)
    if skipped is not None:
        with contextlib.suppress(PortError):
            whole = _written(node, [*sizes, *skipped])
            return size(sizes[-1].real, code_of(whole), *sizes, *skipped)
    conditions.truth(sizes[-1], node, scope)
    return sizes[-1]


def _skipped(rest: list[ast.expr], scope: Scope) -> list[Value] | None:
    """Return the values of expressions that Python skips, or None if one is not a number."""
    if not all(_is_number(x) for part in rest for x in ast.walk(part)):
        return None
    count = len(scope.run.assumptions)
    with contextlib.suppress(Exception), scope.block() as body:  # such as `x.shape[3]`
        values = [scope.run.evaluate(x, scope) for x in rest]
        if not body and all(isinstance(x, Size | Folded) for x in values):
            return values
    del scope.run.assumptions[count:]
    return None


def _is_number(node: ast.AST) -> bool:
    """Return whether a part of an expression computes numbers only."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else syntax.text(node.func)
        return name in ("size", "dim", "numel", "len", "int", "min", "max", "abs")
    return not isinstance(node, ast.NamedExpr | ast.Lambda | ast.ListComp | ast.GeneratorExp)


def _are_tests(sizes: Sequence[Value]) -> bool:
    return all(isinstance(x.real, bool) for x in sizes)


def _written(node: ast.BoolOp, operands: Sequence[Value]) -> Value:
    if len(operands) == 1:
        return operands[0]
    code = ast.BoolOp(node.op, [code_of(x) for x in operands])
    return size(operands[-1].real, code, *operands)
