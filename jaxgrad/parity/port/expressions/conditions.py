"""Interpret comparisons and `a if test else b`, and decide which branch is taken."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from jaxgrad._core.source import short_name
from jaxgrad.parity.port.expressions import operators
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.fixed import is_fixed
from jaxgrad.parity.port.values.lengths import depends_on_sizes, pinned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.size_tests import are_alike, are_one_number
from jaxgrad.parity.port.values.unchanged import unchanged
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Module,
    Size,
    Tensor,
    Value,
    size,
)
from jaxgrad.parity.port.values.values import code_of, real_of


def truth(value: Value, node: ast.AST, scope: Scope) -> bool:
    """Return the truth of a test in the run; one that read a size is asserted in the port."""
    if isinstance(value, Tensor):
        if not is_fixed_test(value):
            raise scope.refuse(
                "this test depends on the values of a tensor; write it with torch.where, or pass "
                "the decision as an argument",
                node,
            )
        answer = bool(value.real)
        text = syntax.text(node)
        scope.assume(node, text if answer else f"not ({text})")
        return answer
    if isinstance(value, Items) and value.counted:
        return truth(Size(bool(value.items), code_of(value)), node, scope)
    if isinstance(value, Items | Fields):
        return bool(value.items if isinstance(value, Items) else value.fields)
    if isinstance(value, Size):
        answer = bool(value.real)
        code = code_of(value)
        if scope.is_index(code) or scope.run.ranks.fixes(value):
            return answer
        test = code if answer else opposite(code)
        text = syntax.text(test)
        scope.assume(node, text)
        place = scope.place(node)
        where = f"{short_name(place.file)}:{place.line}"
        message = f"this port holds for {text}: torch takes another branch otherwise ({where})"
        scope.emit(ast.Assert(test, syntax.constant(message)))
        return answer
    if isinstance(value, Module):
        return bool(value.real)
    return bool(real_of(value))


def opposite(test: ast.expr) -> ast.expr:
    """Return the test that holds where one on sizes or settings does not: `a >= b` for `a < b`."""
    match test:
        case ast.Compare(left, [op], [right]) if type(op) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(op)]()], [right])
    return syntax.negated(test)


def is_fixed_test(value: Value) -> bool:
    """Return whether a test on a tensor has one answer for each size of the inputs."""
    return isinstance(value, Tensor) and value.real.numel() == 1 and is_fixed(value.real)


def comparison(node: ast.Compare, scope: Scope) -> Value:
    """Return the value of `a < b`, or of a chain `a < b < c`."""
    left = scope.run.evaluate(node.left, scope)
    if len(node.ops) > 1:
        rights = [scope.run.evaluate(x, scope) for x in node.comparators]
        pairs = zip([left, *rights[:-1]], node.ops, rights, strict=True)
        parts = [_compared(a, op, b, scope, node) for a, op, b in pairs]
        if any(isinstance(x, Tensor) for x in parts):
            raise scope.refuse("a chained comparison of tensors; join two comparisons with &", node)
        return _all(parts)
    return _compared(left, node.ops[0], scope.run.evaluate(node.comparators[0], scope), scope, node)


def _all(parts: list[Value]) -> Value:
    real = all(x.real for x in parts)
    sizes = [code_of(x) for x in parts if isinstance(x, Size)]
    if not sizes:
        return Folded(real)
    return size(real, sizes[0] if len(sizes) == 1 else ast.BoolOp(ast.And(), sizes), *parts)


def _compared(left: Value, op: ast.cmpop, right: Value, scope: Scope, node: ast.AST) -> Value:
    if isinstance(op, ast.Is | ast.IsNot):
        same = left.real is right.real and not isinstance(left, Items | Fields)
        if isinstance(left.real, str):  # Python keeps one object for each word in a program
            same = left.real == right.real
        return Folded(same == isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, Tensor):
            return _contains(right, left, negated=isinstance(op, ast.NotIn))
        if isinstance(right, Fields):
            return Folded((pinned(left, scope, node) in right.fields) == isinstance(op, ast.In))
        keys = real_of(right)
        if isinstance(left, Tensor):
            raise scope.refuse(
                "`in` on a tensor depends on its values; write (tensor == value).any()", node
            )
        answer = (real_of(left) in keys) == isinstance(op, ast.In)
        if depends_on_sizes(left) or depends_on_sizes(right):
            try:
                code = ast.Compare(code_of(left), [op], [code_of(right)])
                return size(answer, code, *_parts(left), *_parts(right))
            except PortError:  # a set has no literal
                pinned(left, scope, node)
        return Folded(answer)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.compare(op, left, right, scope)
    real = _COMPARE[type(op)](real_of(left), real_of(right))
    sized = _has_size(left) or _has_size(right)
    if sized:
        code = ast.Compare(code_of(left), [op], [code_of(right)])
        return size(real, code, *_parts(left), *_parts(right))
    return Folded(real)


def _contains(tensor: Tensor, value: Value, *, negated: bool) -> Tensor:
    """Return `value in tensor`."""
    equal = ast.Compare(code_of(tensor), [ast.Eq()], [code_of(value)])
    code: ast.expr = syntax.call(syntax.attribute(equal, "any"))
    real = (tensor.real == real_of(value)).any()
    return Tensor(~real, ast.UnaryOp(ast.Invert(), code)) if negated else Tensor(real, code)


def _has_size(value: Value) -> bool:
    return isinstance(value, Size) or (
        isinstance(value, Items) and any(isinstance(x, Size) for x in value.items)
    )


def _parts(value: Value) -> list[Value]:
    """Return the elements of a list or tuple, or the value itself."""
    return value.items if isinstance(value, Items) else [value]


def if_expression(node: ast.IfExp, scope: Scope) -> Value:
    """Return the value of `a if test else b`."""
    test = scope.run.evaluate(node.test, scope)
    if isinstance(test, Tensor) and test.real.numel() == 1 and not is_fixed_test(test):
        return _either(node, test, scope)
    if isinstance(test, Size) and scope.has_both_arms(test, node.test):
        return _by_size(node, test, scope)
    return scope.run.evaluate(node.body if truth(test, node.test, scope) else node.orelse, scope)


def _by_size(node: ast.IfExp, test: Size, scope: Scope) -> Value:
    """Return `a if size > 1 else b` with both sides; the side that torch takes is interpreted last.

    Raises:
        PortError: A side is not one expression, or the two are of different kinds.
    """
    taken, other = (node.body, node.orelse) if test.real else (node.orelse, node.body)
    with unchanged(scope, node.test), scope.block() as statements:
        try:
            left = scope.run.evaluate(other, scope)
        except PortError as error:
            raise scope.refuse(f"the other side cannot be written: {error}", node.test) from None
        right = scope.run.evaluate(taken, scope)
    if statements or not are_alike(left, right):
        raise scope.refuse(
            "the two sides are not expressions of one kind; write it as an `if` statement",
            node.test,
        )
    if are_one_number(right, left):
        return right
    sides = (right, left) if test.real else (left, right)
    code = ast.IfExp(code_of(test), *map(code_of, sides))
    return Tensor(right.real, code) if isinstance(right, Tensor) else Size(right.real, code)


def _either(node: ast.IfExp, test: Tensor, scope: Scope) -> Value:
    """Return `a if tensor else b`: both are computed by one `lax.cond`."""
    with scope.block() as body:
        sides = scope.run.evaluate(node.body, scope), scope.run.evaluate(node.orelse, scope)
    types = [(s.real.shape, s.real.dtype) for s in sides if isinstance(s, Tensor)]
    if body or len(types) < 2 or types[0] != types[1]:
        truth(test, node.test, scope)  # raises
    arms = [ast.Lambda(syntax.function("_", [], []).args, code_of(s)) for s in sides]
    real = sides[0 if bool(test.real) else 1].real
    return Tensor(real, syntax.call_helper(Helper.COND, code_of(test), *arms))


_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
