"""Write what JAX programs have: `jax.grad(f)(x)`, `x.reshape(y.shape)`, `x - 2`, `axis=(2, 3)`."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from typing import Any

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import has_remarks
from jaxgrad.parity.port.source.line_breaks import WIDTH
from jaxgrad.parity.port.source.views import RESHAPED
from jaxgrad.parity.port.source.written import Written


def with_idioms(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with JAX's idioms.

    The gradient of one argument is an array, not a tuple of one.
    """
    for written in functions:
        _One().visit(written.node)
        _Plain().visit(written.node)
        if isinstance(written.node, ast.FunctionDef):
            _with_known_parts(written.node.body)
            _as_lambdas(written.node)
            _pass_in_both_modes(written.node)
    return list(functions)


def _with_known_parts(body: list[ast.stmt]) -> None:
    """Write where a tensor is split, where its parts are unpacked into names.

    `q, k, v = [f(part) for part in jnp.split(x, ...)]` has three parts, so that two places do.
    """
    for statement in body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.ListComp):
            continue
        target, (first, *rest) = statement.targets[0], statement.value.generators
        size = _size_of_parts(first.iter)
        if size is not None and isinstance(target, ast.Tuple) and not rest:
            ends = [_times(n, size) for n in range(1, len(target.elts))]
            first.iter.args[1] = ast.List(ends, ast.Load())  # pyright: ignore[reportAttributeAccessIssue]


def _size_of_parts(code: ast.expr) -> ast.expr | None:
    """Return 16 of `jnp.split(x, list(range(16, x.shape[1], 16)), axis=1)`."""
    if not syntax.is_op(code, ("split", "chunk")):
        return None
    match code:
        case ast.Call(args=[_, ast.Call(args=[ast.Call(args=[first, _, step])]) as ends]):
            is_simple = isinstance(first, ast.Name | ast.Constant)
            is_even = syntax.calls(ends, Helper.LIST) and syntax.same(first, step)
            return first if is_simple and is_even else None
    return None


def _times(number: int, size: ast.expr) -> ast.expr:
    """Return 32 for 2 and 16, and `2 * WIDTH` for 2 and a name."""
    size = copy.deepcopy(size)
    if isinstance(size, ast.Constant):
        return syntax.literal(number * size.value)  # pyright: ignore[reportOperatorIssue]
    return size if number == 1 else ast.BinOp(syntax.constant(number), ast.Mult(), size)


class _One(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and len(target.elts) == 1 and _is_of_one(node.value):
            node.targets, node.value = [target.elts[0]], _of_array(node.value)
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        first = isinstance(node.slice, ast.Constant) and node.slice.value == 0
        return _of_array(node.value) if first and _is_of_one(node.value) else node


def _is_of_one(code: ast.expr) -> bool:
    """Return whether an expression is `jax.grad(f, (0,))(x)`."""
    match code:
        case ast.Call(ast.Call(args=[_, ast.Tuple([ast.Constant(0)])], keywords=[]) as inner):
            return syntax.calls(inner, Helper.GRAD)
    return False


def _of_array(code: Any) -> ast.Call:
    return ast.Call(syntax.call_helper(Helper.GRAD, code.func.args[0]), code.args, code.keywords)


class _Plain(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        place = node.slice.value if isinstance(node.slice, ast.Constant) else None
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
        has_star = any(isinstance(x, ast.Starred) for x in parts)
        if type(place) is int and place < len(parts) and not has_star:
            return parts[place]  # of `(grad,)[0]`, and of a function that is written at its call
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.BinOp:
        self.generic_visit(node)
        right = node.right
        if isinstance(node.op, ast.Add | ast.Sub) and isinstance(right, ast.UnaryOp):
            if isinstance(right.op, ast.USub) and isinstance(right.operand, ast.Constant):
                node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
                node.right = right.operand
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        only = node.args[0] if len(node.args) == 1 else None
        if syntax.is_op(node, RESHAPED) and isinstance(only, ast.Starred):
            node.args = [only.value]
        for keyword in node.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, ast.List):
                keyword.value = ast.Tuple(keyword.value.elts, ast.Load())
        return node


def with_features_read(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with norms that read the number of features from an array."""
    for written in functions:
        for node in ast.walk(written.node):
            if isinstance(node, ast.Call) and syntax.is_op(node, _NORMS):
                _read_features(node)
    return list(functions)


_NORMS = ("layer_norm", "rms_norm")


def _read_features(norm: ast.Call) -> None:
    """Write `F.layer_norm(x, (32,))` as `F.layer_norm(x, x.shape[-1:])`."""
    x, *rest = norm.args
    given = rest[0] if rest else None
    sizes = given.elts if isinstance(given, ast.Tuple) else []
    if isinstance(x, ast.Name) and len(sizes) == 1 and isinstance(sizes[0], ast.Constant):
        last = ast.Slice(ast.UnaryOp(ast.USub(), syntax.constant(1)))
        shape = syntax.shape(syntax.name(x.id))
        norm.args[1] = ast.Subscript(shape, last, ast.Load())


def _as_lambdas(function: ast.FunctionDef) -> None:
    """Write a nested function of one expression where it is used, if that fits on a line."""
    for n in reversed(range(len(function.body) - 1)):
        nested, after = function.body[n], function.body[n + 1]
        if not isinstance(nested, ast.FunctionDef) or nested.decorator_list:
            continue
        _join_result(nested)
        only = nested.body[0]
        uses = sum(syntax.names_in(s).count(nested.name) for s in function.body)
        if len(nested.body) > 1 or not isinstance(only, ast.Return) or only.value is None:
            continue
        if uses != 1 or nested.name not in syntax.names_in(after) or has_remarks(nested):
            continue
        new = syntax.substitute(after, {nested.name: ast.Lambda(nested.args, only.value)})
        if isinstance(after, ast.Assign | ast.Return) and len(syntax.text(new)) <= WIDTH - 4:
            function.body[n : n + 2] = [new]


def _join_result(nested: ast.FunctionDef) -> None:
    """Write `y = f(x)` and `return y.sum()` as `return f(x).sum()`."""
    while len(nested.body) > 1:
        before, last = nested.body[-2:]
        target = before.targets[0] if isinstance(before, ast.Assign) else None
        if not isinstance(target, ast.Name) or not isinstance(last, ast.Return):
            return
        if last.value is None or syntax.names_in(last).count(target.id) != 1:
            return
        if has_remarks(before) or has_remarks(last):
            return
        value = syntax.substitute(last.value, {target.id: before.value})  # pyright: ignore[reportAttributeAccessIssue]
        if len(syntax.text(value)) > WIDTH - 20:
            return
        nested.body[-2:] = [ast.Return(value)]


def _pass_in_both_modes(function: ast.FunctionDef) -> None:
    """Write `f(x, y)` for `f(x, y if training else None)`, which ignores `y` in eval mode."""
    bound = {a.arg for a in function.args.args}
    for statement in function.body:
        for call in ast.walk(statement):
            if isinstance(call, ast.Call) and syntax.is_written(call.func):
                call.args = [_of_both(x, bound) for x in call.args]
        if isinstance(statement, ast.Assign):
            bound |= syntax.assigned(statement)


def _of_both(code: ast.expr, bound: set[str]) -> ast.expr:
    if not isinstance(code, ast.IfExp) or not syntax.is_name(code.test, TRAINING):
        return code
    none = syntax.constant(None)
    parts = [x for x in (code.body, code.orelse) if not syntax.same(x, none)]
    only = parts[0] if len(parts) == 1 else None
    return only if isinstance(only, ast.Name) and only.id in bound else code
