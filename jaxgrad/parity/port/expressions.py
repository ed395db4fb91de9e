"""Interpret an expression of the torch program: run it, and write it as JAX."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import torch

from jaxgrad.parity.port import attributes, closures, context_managers, source, syntax
from jaxgrad.parity.port.binding import bind
from jaxgrad.parity.port.comprehensions import comprehension
from jaxgrad.parity.port.fixed import is_fixed
from jaxgrad.parity.port.rules import operators
from jaxgrad.parity.port.scope import Scope
from jaxgrad.parity.port.values import (
    Fields,
    Folded,
    Items,
    Module,
    Size,
    Tensor,
    Value,
    code_of,
    is_dynamic,
    real_of,
)


def evaluate(node: ast.expr, scope: Scope) -> Value:
    """Return the value of an expression.

    Raises:
        PortError: It cannot be written in JAX.
    """
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise scope.refuse(f"{type(node).__name__} expressions are not ported", node)
    return handler(node, scope)


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
    if isinstance(value, Items | Fields):
        return bool(value.items if isinstance(value, Items) else value.fields)
    if isinstance(value, Size):
        answer = bool(value.real)
        code = code_of(value)
        if scope.is_index(code):
            return answer
        test = code if answer else ast.UnaryOp(ast.Not(), code)
        text = syntax.text(test)
        scope.assume(node, text)
        message = f"torch takes another branch at {scope.place(node).line} unless {text}"
        scope.emit(ast.Assert(test, syntax.constant(message)))
        return answer
    if isinstance(value, Module):
        return bool(value.real)
    return bool(real_of(value))


def is_fixed_test(value: Value) -> bool:
    """Return whether a test on a tensor has one answer for each size of the inputs."""
    return isinstance(value, Tensor) and value.real.numel() == 1 and is_fixed(value.real)


def _constant(node: ast.Constant, _: Scope) -> Value:
    return Folded(node.value)


def _name(node: ast.Name, scope: Scope) -> Value:
    if node.id in scope.values:
        return _fresh(scope.values[node.id], node, scope)
    function: Any = scope.source.function
    free = source.free_names(function)
    if node.id in free:
        return attributes.constant_value(free[node.id], node.id, scope)
    try:
        found = source.global_value(function, node.id)
    except KeyError:
        raise scope.refuse(f"the name {node.id!r} has no value here", node) from None
    return attributes.constant_value(found, node.id, scope)


def _fresh(value: Value, node: ast.AST, scope: Scope) -> Value:
    if isinstance(value, Tensor) and value.stale:
        raise scope.refuse(value.stale, node)
    return value


def _tuple(node: ast.Tuple, scope: Scope) -> Value:
    if not any(isinstance(x, ast.Starred) for x in node.elts):
        return Items(tuple, None, _elements(node.elts, scope))
    sides = [_side(x, scope) for x in node.elts]
    return Items(tuple, _spread(*sides), [x.at(n) for x in sides for n in range(len(x.items))])


def _side(node: ast.expr, scope: Scope) -> Items:
    """Return what an element of a tuple adds to it: `*x` all parts of `x`."""
    if not isinstance(node, ast.Starred):
        return Items(tuple, None, [evaluate(node, scope)])
    value = evaluate(node.value, scope)
    if isinstance(value, Items):
        return value
    return Items(tuple, None, attributes.iterate(value, scope, node))


def _list(node: ast.List, scope: Scope) -> Value:
    return Items(list, None, _elements(node.elts, scope))


def _elements(nodes: list[ast.expr], scope: Scope) -> list[Value]:
    found: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found += attributes.iterate(evaluate(node.value, scope), scope, node)
        else:
            found.append(evaluate(node, scope))
    return found


def _dict(node: ast.Dict, scope: Scope) -> Value:
    fields: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = evaluate(value, scope)
            if isinstance(inner, Fields):
                fields |= {k: inner.at(k) for k in inner.fields}
            else:
                fields |= {k: Folded(x) for k, x in dict(real_of(inner)).items()}
        else:
            fields[real_of(evaluate(key, scope))] = evaluate(value, scope)
    return Fields(dict, None, fields)


def _attribute(node: ast.Attribute, scope: Scope) -> Value:
    return attributes.read(evaluate(node.value, scope), node.attr, scope, node)


def _subscript(node: ast.Subscript, scope: Scope) -> Value:
    return attributes.index(evaluate(node.value, scope), evaluate(node.slice, scope), scope, node)


def _slice(node: ast.Slice, scope: Scope) -> Value:
    parts = [None if x is None else evaluate(x, scope) for x in (node.lower, node.upper, node.step)]
    real = slice(*(None if x is None else real_of(x) for x in parts))
    if any(isinstance(x, Tensor) for x in parts):
        raise scope.refuse("a slice bound that is a tensor has no fixed size in JAX", node)
    if not any(x is not None and is_dynamic(x) for x in parts):
        return Folded(real)
    written = (None if x is None or x.real is None else code_of(x) for x in parts)
    return Size(real, ast.Slice(*written))


def _binary(node: ast.BinOp, scope: Scope) -> Value:
    left, right = evaluate(node.left, scope), evaluate(node.right, scope)
    return binary(node.op, left, right, scope, node)


def binary(op: ast.operator, left: Value, right: Value, scope: Scope, node: ast.AST) -> Value:
    """Return the value of `left op right`."""
    compute = _BINARY[type(op)]
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.binary(op, compute, left, right)
    if isinstance(left, Items) or isinstance(right, Items):
        return _items_binary(op, compute, left, right)
    real = compute(real_of(left), real_of(right))
    if isinstance(left, Size) or isinstance(right, Size):
        same = _unchanged(op, left, right)
        return same or Size(real, ast.BinOp(code_of(left), op, code_of(right)))
    if isinstance(real, torch.Tensor):
        raise scope.refuse("a tensor that is made of constants in an operator", node)
    return Folded(real)


def _unchanged(op: ast.operator, left: Value, right: Value) -> Value | None:
    """Return the size of `size + 0`, `0 + size`, `size - 0`, `size * 1` and `1 * size`."""
    if not isinstance(op, ast.Add | ast.Sub | ast.Mult):
        return None
    neutral = 1 if isinstance(op, ast.Mult) else 0
    if isinstance(right, Folded) and right.code is None and right.real is neutral:
        return left
    turned = isinstance(left, Folded) and left.code is None and left.real is neutral
    return right if turned and not isinstance(op, ast.Sub) else None


def _items_binary(
    op: ast.operator, compute: Callable[..., Any], left: Value, right: Value
) -> Value:
    sides = [
        x if isinstance(x, Items) else Items(type(x.real), None, [Folded(y) for y in x.real])
        if isinstance(x.real, list | tuple) else x for x in (left, right)
    ]  # fmt: skip
    codes = ast.BinOp(code_of(left), op, code_of(right)) if any(map(is_dynamic, sides)) else None
    one, other = sides
    if isinstance(one, Items) and isinstance(other, Items):
        parts = [x.at(n) for x in (one, other) for n in range(len(x.items))]
        return Items(one.real, _spread(one, other) if one.real is tuple else None, parts)
    items = one if isinstance(one, Items) else other
    assert isinstance(items, Items)
    number = real_of(other if items is one else one)
    again = compute(list(range(len(items.items))), number)
    code = codes if isinstance(other, Size) or isinstance(one, Size) else None
    return Items(items.real, code, [items.at(n) for n in again])


def _spread(*sides: Items) -> ast.expr | None:
    """Return `(*x.shape[:-1], 4)` for a sum of tuples, one of which is an expression."""
    whole = [x for x in sides if x.code is not None and len(x.items) != 1]
    if not whole:
        return None
    elements = [
        part
        for x in sides
        for part in ([ast.Starred(code_of(x), ast.Load())] if x in whole else map(code_of, x.items))
    ]
    return ast.Tuple(elements, ast.Load())


def _unary(node: ast.UnaryOp, scope: Scope) -> Value:
    value = evaluate(node.operand, scope)
    if isinstance(node.op, ast.Not):
        if isinstance(value, Size):
            return Size(not value.real, ast.UnaryOp(ast.Not(), code_of(value)))
        if isinstance(value, Tensor) and value.real.numel() == 1 and not is_fixed_test(value):
            return Tensor(~value.real.bool(), syntax.call("jnp.logical_not", code_of(value)))
        return Folded(not truth(value, node.operand, scope))
    if isinstance(value, Tensor):
        return operators.unary(node.op, value)
    real = _UNARY[type(node.op)](real_of(value))
    return Size(real, ast.UnaryOp(node.op, code_of(value))) if is_dynamic(value) else Folded(real)


def _compare(node: ast.Compare, scope: Scope) -> Value:
    left = evaluate(node.left, scope)
    if len(node.ops) > 1:
        rights = [evaluate(x, scope) for x in node.comparators]
        pairs = zip([left, *rights[:-1]], node.ops, rights, strict=True)
        parts = [_compared(a, op, b, scope, node) for a, op, b in pairs]
        if any(isinstance(x, Tensor) for x in parts):
            raise scope.refuse("a chained comparison of tensors", node)
        return _all(parts)
    return _compared(left, node.ops[0], evaluate(node.comparators[0], scope), scope, node)


def _all(parts: list[Value]) -> Value:
    real = all(x.real for x in parts)
    sizes = [code_of(x) for x in parts if isinstance(x, Size)]
    if not sizes:
        return Folded(real)
    return Size(real, sizes[0] if len(sizes) == 1 else ast.BoolOp(ast.And(), sizes))


def _compared(left: Value, op: ast.cmpop, right: Value, scope: Scope, node: ast.AST) -> Value:
    if isinstance(op, ast.Is | ast.IsNot):
        same = left.real is right.real and not isinstance(left, Items | Fields)
        return Folded(same == isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        if isinstance(right, Tensor):
            return _contains(right, left, negated=isinstance(op, ast.NotIn))
        keys = list(right.fields) if isinstance(right, Fields) else real_of(right)
        if isinstance(left, Tensor):
            raise scope.refuse("`in` on a tensor depends on its values", node)
        return Folded((real_of(left) in keys) == isinstance(op, ast.In))
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return operators.compare(op, left, right, scope)
    real = _COMPARE[type(op)](real_of(left), real_of(right))
    sized = _has_size(left) or _has_size(right)
    if sized:
        return Size(real, ast.Compare(code_of(left), [op], [code_of(right)]))
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


def _bool(node: ast.BoolOp, scope: Scope) -> Value:
    is_and = isinstance(node.op, ast.And)
    parts: list[Value] = []
    last: Value = Folded(is_and)
    for part in node.values:
        value = evaluate(part, scope)
        if isinstance(value, Tensor) and (part is not node.values[-1] or is_fixed_test(value)):
            value = Folded(truth(value, part, scope))
        if isinstance(value, Size):
            parts.append(value)
            if bool(value.real) != is_and:
                return _joined(node, parts)
            continue
        if isinstance(value, Tensor) or truth(value, part, scope) != is_and:
            if parts and isinstance(value, Folded):
                return _joined(
                    node, [x for x in parts if bool(x.real) == bool(value.real)] or [value]
                )
            return value
        last = value
    return _joined(node, parts) if parts else last


def _joined(node: ast.BoolOp, parts: list[Value]) -> Value:
    if not any(isinstance(x, Size) for x in parts):
        return parts[-1]
    if len(parts) == 1:
        return parts[0]
    return Size(parts[-1].real, ast.BoolOp(node.op, [code_of(x) for x in parts]))


def _if(node: ast.IfExp, scope: Scope) -> Value:
    test = evaluate(node.test, scope)
    if isinstance(test, Tensor) and test.real.numel() == 1 and not is_fixed_test(test):
        return _either(node, test, scope)
    return evaluate(node.body if truth(test, node.test, scope) else node.orelse, scope)


def _either(node: ast.IfExp, test: Tensor, scope: Scope) -> Value:
    """Return `a if tensor else b`: both are computed by one `lax.cond`."""
    with scope.block() as body:
        sides = evaluate(node.body, scope), evaluate(node.orelse, scope)
    types = [(s.real.shape, s.real.dtype) for s in sides if isinstance(s, Tensor)]
    if body or len(types) < 2 or types[0] != types[1]:
        truth(test, node.test, scope)  # raises
    arms = [ast.Lambda(syntax.function("_", [], []).args, code_of(s)) for s in sides]
    real = sides[0 if bool(test.real) else 1].real
    return Tensor(real, syntax.call("lax.cond", code_of(test), *arms))


def _call(node: ast.Call, scope: Scope) -> Value:
    function = evaluate(node.func, scope)
    args = _elements(node.args, scope)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluate(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Fields):
            keywords |= {key: value.at(key) for key in value.fields}
        else:
            keywords |= {key: Folded(x) for key, x in dict(real_of(value)).items()}
    return scope.run.call(function, args, keywords, scope, node)


def _lambda(node: ast.Lambda, scope: Scope) -> Value:
    return closures.define(node, scope)


def _joined_text(node: ast.JoinedStr, scope: Scope) -> Value:
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = evaluate(part.value, scope)
            parts.append(str(value.real) if not isinstance(value, Tensor) else "a tensor")
        elif isinstance(part, ast.Constant):
            parts.append(str(part.value))
    return Folded("".join(parts))


def _named(node: ast.NamedExpr, scope: Scope) -> Value:
    value = evaluate(node.value, scope)
    return bind(node.target.id, value, scope)


def _yield(node: ast.Yield, scope: Scope) -> Value:
    value = Folded(None) if node.value is None else evaluate(node.value, scope)
    return context_managers.yielded(value, scope, node)


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
_COMPARE: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_HANDLERS: dict[type[ast.expr], Callable[..., Value]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Tuple: _tuple, ast.List: _list, ast.Dict: _dict,
    ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Slice: _slice, ast.BinOp: _binary,
    ast.UnaryOp: _unary, ast.Compare: _compare, ast.BoolOp: _bool, ast.IfExp: _if,
    ast.Call: _call, ast.Lambda: _lambda, ast.JoinedStr: _joined_text, ast.NamedExpr: _named,
    ast.Yield: _yield,
    ast.ListComp: comprehension, ast.GeneratorExp: comprehension, ast.SetComp: comprehension,
    ast.DictComp: comprehension,
}  # fmt: skip
