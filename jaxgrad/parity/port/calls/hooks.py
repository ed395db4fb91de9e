"""Calls that take a function: checkpoint, and hooks on tensors."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any, TypeGuard

import torch
import torch.utils.checkpoint

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.port_names import port_name
from jaxgrad.parity.port.values.binding import bind
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import Closure, Folded, Tensor, Value, renamed
from jaxgrad.parity.port.values.values import code_of, tensors_in


def checkpoint(site: CallSite) -> Value:
    """Write `checkpoint(f, x)` as `jax.checkpoint(f)(x)`."""
    own = inspect.signature(torch.utils.checkpoint.checkpoint).parameters
    keywords = {k: v for k, v in site.keywords.items() if k not in own}
    function, *rest = site.args
    scope, was_stateful = site.scope, site.scope.stateful
    if isinstance(function.real, ast.AST) and syntax.nonlocals(function.real):
        raise site.refuse("checkpoint of a function that assigns a `nonlocal`; return the value")
    with scope.block() as body:
        result = scope.run.call(function, rest, keywords, scope, site.node)
    code = result.code
    while isinstance(code, ast.Subscript):
        code = code.value
    if isinstance(code, ast.Call) and syntax.is_written(code.func):
        for statement in body:
            scope.body.append(statement)
        for written in scope.run.written:
            written.pinned |= written.name == code.func.id
        again = ast.Call(syntax.call_helper(Helper.CHECKPOINT, code.func), code.args, code.keywords)
        return renamed(result, again)
    if (scope.stateful and not was_stateful) or any(map(_sets_part, body)):
        raise site.refuse(
            "checkpoint around buffers that change, which torch changes again in the backward "
            "pass; port it without checkpoint"
        )
    if not tensors_in(result):
        raise site.refuse(
            "checkpoint of something that is not a function or a module of its own"
            "; pass a function or a submodule that returns tensors"
        )
    return _recomputed(result, rest, body, scope)


def _sets_part(statement: ast.stmt) -> bool:
    """Return whether a statement changes a value from outside, such as an element of a list."""
    stores = (n for n in ast.walk(statement) if isinstance(n, ast.Attribute | ast.Subscript))
    return any(isinstance(n.ctx, ast.Store) for n in stores) or isinstance(statement, ast.Expr)


def _recomputed(result: Value, inputs: list[Value], body: list[ast.stmt], scope: Scope) -> Value:
    """Return the result of statements that are a function under `jax.checkpoint`."""
    code = code_of(result)
    reads = _reads([*body, code])
    given = [x.code.id for x in inputs if isinstance(x.code, ast.Name)]
    names = [name for name in dict.fromkeys(given) if name in reads]
    if body:
        inner = syntax.function(scope.fresh("recomputed"), names, [*body, ast.Return(code)])
        scope.body.append(inner)
        function: ast.expr = syntax.name(inner.name)
    else:
        function = ast.Lambda(syntax.function("_", names, []).args, code)
    again = syntax.call_helper(Helper.CHECKPOINT, function)
    return renamed(result, ast.Call(again, [syntax.name(n) for n in names], []))


def register_hook(target: Tensor, function: Value, scope: Scope, node: ast.AST) -> Value:
    """Write `x.register_hook(f)` as `x = jaxgrad.hook(x, f)`."""
    if not isinstance(target.code, ast.Name):
        raise scope.refuse(
            "a hook on a value without a name; assign the value to a variable first", node
        )
    written = as_lambda(function, [torch.ones_like(target.real)], ["grad"], scope, node)
    if written is None:
        return Folded(None)  # it only looks at the gradient
    name = next(
        k
        for k, v in scope.values.items()
        if v.code is not None and syntax.same(v.code, target.code)
    )
    hooked = syntax.call("jaxgrad.hook", code_of(target), written)
    bind(name, Tensor(target.real, hooked), scope)
    return Folded(None)


def as_lambda(
    function: Value, reals: list[torch.Tensor], names: list[str], scope: Scope, node: ast.AST
) -> ast.expr | None:
    """Return a function of tensors as an expression of the port, or None if it returns nothing."""
    code, result = traced(function, reals, names, "on_grad", scope, node)
    if isinstance(result, Folded) and result.real is None:
        return None
    return with_named_constants(code, function, scope)


def with_named_constants(code: ast.expr, function: Value, scope: Scope) -> ast.expr:
    """Return a hook's code with the name of each tensor that the hook has from outside."""
    if not isinstance(function, Folded) or not inspect.isfunction(function.real):
        return code
    outer = inspect.getclosurevars(function.real)
    for label, value in {**outer.globals, **outer.nonlocals}.items():
        found = next((n for n in ast.walk(code) if _is_array_of(n, value)), None)
        if found is not None:
            name = scope.fresh(port_name(label))
            scope.emit(ast.Assign([ast.Name(name, ast.Store())], found))
            code = syntax.renamed_parts(code, [(found, name)])
    return code


def _is_array_of(node: ast.AST, value: Any) -> TypeGuard[ast.Call]:
    """Return whether a node is `jnp.array(...)` with the elements of a tensor."""
    if not isinstance(value, torch.Tensor) or not syntax.calls(node, Helper.ARRAY):
        return False
    return syntax.same(node.args[:1], [syntax.literal(value.tolist())])


def traced(
    function: Value,
    reals: list[torch.Tensor],
    names: list[str],
    label: str,
    scope: Scope,
    node: ast.AST,
) -> tuple[ast.expr, Value]:
    """Interpret a function on tensors; return it as an expression of the port, and its result.

    A function of several statements gets the name `label`.
    """
    if isinstance(function, Closure) and function.real is not None:
        names = [a.arg for a in function.real.args.args][: len(reals)]
    names = [scope.fresh(name) if name in scope.names else name for name in names]
    args: list[Value] = [Tensor(x, syntax.name(n)) for x, n in zip(reals, names, strict=True)]
    with scope.block() as body:
        result = scope.run.call(function, args, {}, scope, node)
    if isinstance(result, Folded) and result.real is None:
        return syntax.constant(None), result
    code = code_of(result)
    if _is_call_with(code, names) and not set(names) & _reads(body):
        for statement in body:
            scope.emit(statement)
        return code.func, result  # pyright: ignore[reportAttributeAccessIssue]
    inner = syntax.function(label, names, [*body, ast.Return(code)])
    if not body:
        return ast.Lambda(inner.args, code), result
    inner.name = label = scope.fresh(label)
    scope.emit(inner)
    return syntax.name(label), result


def _is_call_with(code: ast.expr, names: list[str]) -> bool:
    """Return whether an expression is `f(a, b)`, so that `lambda a, b: f(a, b)` is `f`."""
    if not isinstance(code, ast.Call) or code.keywords or set(names) & _reads([code.func]):
        return False
    return [a.id if isinstance(a, ast.Name) else None for a in code.args] == names


def _reads(nodes: Sequence[ast.AST]) -> set[str]:
    return {name for node in nodes for name in syntax.names_in(node)}


SPECIAL: dict[Any, Any] = {torch.utils.checkpoint.checkpoint: checkpoint}
