"""Interpret the statements of a torch function, and emit those of its port."""

from __future__ import annotations

import ast
import copy
import importlib
from collections.abc import Callable
from typing import Any

from jaxgrad.parity.port import (
    arithmetic,
    attributes,
    branches,
    closures,
    conditions,
    holes,
    inplace,
    loop_statements,
    stores,
    syntax,
    with_statements,
)
from jaxgrad.parity.port.binding import bind
from jaxgrad.parity.port.lengths import is_counted
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.port.scope import LEAVING, Broken, Continued, Returned, Scope
from jaxgrad.parity.port.source import is_torch
from jaxgrad.parity.port.values import (
    Closure,
    Fields,
    Folded,
    Items,
    Module,
    Size,
    Tensor,
    Value,
    code_of,
    has_list,
    is_dynamic,
    real_of,
    renamed,
)


def execute(body: list[ast.stmt], scope: Scope) -> None:
    """Interpret statements in order.

    Raises:
        PortError: One of them cannot be written in JAX.
        Returned, Broken, Continued: The statement of this name was reached.
    """
    for node in body:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise scope.refuse(f"{type(node).__name__} statements are not ported", node)
        scope.line = node
        start = holes.before(scope) if scope.run.leaves_holes else None
        length = len(scope.body)
        try:
            handler(node, scope)
            if isinstance(node, ast.Assign) and len(scope.body) == length:
                scope.hold_comments(node)
        except PortError as refusal:
            if start is None:
                raise
            holes.leave(refusal, node, start, scope)
        except LEAVING:
            raise
        except Exception as error:
            error.__dict__.setdefault("place", scope.place(node))
            raise


def _assign(node: ast.Assign, scope: Scope) -> None:
    value = scope.run.evaluate(node.value, scope)
    for target in node.targets:
        _store(target, value, scope)
        if isinstance(target, ast.Name):
            value = scope.values[target.id]  # `a = b = f(a)` calls f once


def _annotated(node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        _store(node.target, scope.run.evaluate(node.value, scope), scope)


def _store(target: ast.expr, value: Value, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        bind(target.id, value, scope)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(target, value, scope)
    elif isinstance(target, ast.Subscript):
        owner = scope.run.evaluate(target.value, scope)
        key = scope.run.evaluate(target.slice, scope)
        stores.set_item(owner, key, value, scope, target)
    elif isinstance(target, ast.Attribute):
        owner = scope.run.evaluate(target.value, scope)
        stores.set_attribute(owner, target.attr, value, scope, target)
    else:
        raise scope.refuse("this target of an assignment is not ported", target)


def _unpack(target: ast.Tuple | ast.List, value: Value, scope: Scope) -> None:
    parts = attributes.elements(value, scope, target)
    stars = [n for n, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if stars and is_counted(value, scope) and _unpack_star(target, stars[0], value, parts, scope):
        return
    if not stars and len(parts) != len(target.elts):
        raise scope.refuse(
            f"{len(parts)} values are unpacked into {len(target.elts)} names", target
        )
    nested = [t for t in target.elts if isinstance(t, ast.Tuple | ast.List | ast.Attribute)]
    if nested and value.code is not None and not stars:
        _unpack_nested(target, parts, value, scope)
        return
    simple = all(isinstance(t, ast.Name) for t in target.elts) and not stars
    if simple and any(isinstance(x, Tensor | Size) or _is_coded(x) for x in parts):
        _unpack_names(target, value, parts, scope)
        return
    parts = attributes.iterate(value, scope, target)
    if stars:
        rest = len(parts) - len(target.elts) + 1
        middle = Items(list, None, parts[stars[0] : stars[0] + rest])
        parts = [*parts[: stars[0]], middle, *parts[stars[0] + rest :]]
    if value.code is not None and not isinstance(value.code, ast.Name):
        code = scope.assign(scope.fresh("parts"), code_of(value))
        value = copy.copy(value)
        value.code = code
        parts = attributes.iterate(value, scope, target) if not stars else parts
    for inner, part in zip(target.elts, parts, strict=True):
        _store(inner.value if isinstance(inner, ast.Starred) else inner, part, scope)


def _unpack_star(
    target: ast.Tuple | ast.List, star: int, value: Value, parts: list[Value], scope: Scope
) -> bool:
    """Write `first, *rest = value`, and return whether it can be written."""
    names = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
    if not all(isinstance(t, ast.Name) for t in names) or not all(map(is_dynamic, parts)):
        return False
    after = len(names) - star - 1
    rest = parts[star : len(parts) - after]
    middle = Items(list, None, [], counted=True)
    single = [*parts[:star], middle, *parts[len(parts) - after :]]
    places: list[ast.expr] = []
    for n, (name, part) in enumerate(zip(names, single, strict=True)):
        assert isinstance(name, ast.Name)
        local = scope.local(name.id)
        place = ast.Name(local, ast.Store())
        places.append(ast.Starred(place, ast.Store()) if n == star else place)
        scope.values[name.id] = renamed(part, syntax.name(local)) if n != star else middle
    middle.code = syntax.name(places[star].value.id)  # pyright: ignore[reportAttributeAccessIssue]
    middle.items = [renamed(x, syntax.item(middle.code, n)) for n, x in enumerate(rest)]
    whole = code_of(value)
    if _stops(value, scope):
        whole = syntax.call("lax.stop_gradient", whole)
    scope.emit(ast.Assign([ast.Tuple(places, ast.Store())], whole))
    return True


def _unpack_nested(
    target: ast.Tuple | ast.List, parts: list[Value], value: Value, scope: Scope
) -> None:
    """Write `a, (b, c) = value` by a name for each part that is unpacked further."""
    labels = [
        t if isinstance(t, ast.Name) else ast.Name(_label(t, scope), ast.Store())
        for t in target.elts
    ]
    _unpack_names(ast.Tuple(list(labels), ast.Store()), value, parts, scope)
    for inner, label in zip(target.elts, labels, strict=True):
        if not isinstance(inner, ast.Name):
            _store(inner, scope.values.pop(label.id), scope)


def _label(target: ast.expr, scope: Scope) -> str:
    return scope.fresh(target.attr.strip("_") if isinstance(target, ast.Attribute) else "pair")


def _is_coded(value: Value) -> bool:
    return isinstance(value, Items | Fields) and value.code is not None


def _unpack_names(target: Any, value: Value, parts: list[Value], scope: Scope) -> None:
    """Write `a, b = value`; parts that are configuration get the name `_`."""
    names = [t.id for t in target.elts]
    if value.code is None:
        names, parts = _after_lists(names, parts, scope)
    elements: list[ast.expr] = []
    codes: list[ast.expr] = []
    for name, part in zip(names, parts, strict=True):
        computed = is_dynamic(part) and not isinstance(part, Module | Closure)
        local = scope.local(name) if computed else "_"
        if computed or value.code is not None:
            elements.append(ast.Name(local, ast.Store()))
        scope.values[name] = part
        if computed:
            bound = copy.copy(part)
            bound.code = syntax.name(local)
            scope.values[name] = bound
            if value.code is None:
                code = code_of(part)
                stop = scope.no_grad and isinstance(part, Tensor)
                codes.append(syntax.call("lax.stop_gradient", code) if stop else code)
    if value.code is None:
        code: ast.expr = codes[0] if len(codes) == 1 else ast.Tuple(codes, ast.Load())
    else:
        code = value.code.__dict__.get("unpacked") or code_of(value)
        if _stops(value, scope):
            code = syntax.call("lax.stop_gradient", code)
    place = (
        elements[0]
        if value.code is None and len(elements) == 1
        else ast.Tuple(elements, ast.Store())
    )
    scope.emit(ast.Assign([place], code))


def _after_lists(
    names: list[str], parts: list[Value], scope: Scope
) -> tuple[list[str], list[Value]]:
    """Give new lists their names, as in `h, outs = x, []`, and return the other parts."""
    lists = {n: x for n, x in zip(names, parts, strict=True) if x.code is None and has_list(x)}
    if set(names) & {n for x in lists.values() for n in syntax.names_in(code_of(x))}:
        return names, parts
    for name, value in lists.items():
        bind(name, value, scope)
    others = [(n, x) for n, x in zip(names, parts, strict=True) if n not in lists]
    return [n for n, _ in others], [x for _, x in others]


def _stops(value: Value, scope: Scope) -> bool:
    return (
        scope.no_grad
        and isinstance(value, Items)
        and any(isinstance(x, Tensor) for x in value.items)
    )


def _augmented(node: ast.AugAssign, scope: Scope) -> None:
    load = copy.deepcopy(node.target)
    load.ctx = ast.Load()  # pyright: ignore[reportAttributeAccessIssue]
    left = scope.run.evaluate(load, scope)
    right = scope.run.evaluate(node.value, scope)
    if isinstance(left, Tensor):
        inplace.augmented(left, node.op, right, scope, node)
    elif isinstance(left, Items) and left.real is list:
        if left.code is None:
            left.items += attributes.iterate(right, scope, node)
            return
        left.items += attributes.elements(right, scope, node)
        left.counted = left.counted or is_counted(right, scope)
        scope.emit(ast.AugAssign(_stored(code_of(left)), node.op, code_of(right)))
    else:
        _store(node.target, arithmetic.binary(node.op, left, right, scope, node), scope)


def _stored(code: ast.expr) -> Any:
    code.ctx = ast.Store()  # pyright: ignore[reportAttributeAccessIssue]
    return code


def _return(node: ast.Return, scope: Scope) -> None:
    raise Returned(Folded(None) if node.value is None else scope.run.evaluate(node.value, scope))


def _expression(node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        scope.run.evaluate(node.value, scope)


def _if(node: ast.If, scope: Scope) -> None:
    test = scope.run.evaluate(node.test, scope)
    if isinstance(test, Tensor) and _only_raises(node):
        if bool(test.real):
            execute(node.body, scope)
        return  # a check of values, which does not change a gradient
    if isinstance(test, Tensor) and not conditions.is_fixed_test(test):
        branches.branch(node, test, scope)
        return
    if isinstance(test, Size) and not test.real and _is_check_of_torch(node, scope):
        return
    arm = node.body if conditions.truth(test, node.test, scope) else node.orelse
    scope.held = [*scope.held, *scope.comments_above(node.lineno)] if arm else []
    execute(arm, scope)
    scope.held = []


def _is_check_of_torch(node: ast.If, scope: Scope) -> bool:
    """Return whether a branch of torch's own code raises or warns, and does nothing else."""
    inner = [x for x in ast.walk(node) if isinstance(x, ast.stmt)]
    only = all(isinstance(x, ast.If | ast.Raise) or _warns(x) for x in inner)
    return only and not node.orelse and is_torch(scope.source.function)


def _warns(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and syntax.text(call.func) == "warnings.warn"


def _only_raises(node: ast.If) -> bool:
    return not node.orelse and all(isinstance(x, ast.Raise) for x in node.body)


def _assert(node: ast.Assert, scope: Scope) -> None:
    test = scope.run.evaluate(node.test, scope)
    if isinstance(test, Tensor):
        return  # a check of values, which does not change a gradient
    if not real_of(test):
        raise scope.refuse("this assertion fails on the example inputs", node)
    if isinstance(test, Size):
        scope.emit(ast.Assert(code_of(test)))


def _raise(node: ast.Raise, scope: Scope) -> None:
    raise scope.refuse("the module raises here on the example inputs", node)


def _define(node: ast.FunctionDef, scope: Scope) -> None:
    scope.values[node.name] = closures.define(node, scope)


def _import(node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    package = scope.source.function.__globals__.get("__package__")
    for alias in node.names:
        if isinstance(node, ast.Import):
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.split(".")[0])
            scope.values[alias.asname or alias.name.split(".")[0]] = Folded(
                module if alias.asname else top
            )
        else:
            module = importlib.import_module("." * node.level + (node.module or ""), package)
            scope.values[alias.asname or alias.name] = Folded(getattr(module, alias.name))


def _try(node: ast.Try, scope: Scope) -> None:
    try:
        _guarded(node, scope)
    except PortError:
        raise
    except Exception:  # the block was left
        execute(node.finalbody, scope)
        raise
    execute(node.finalbody, scope)


def _guarded(node: ast.Try, scope: Scope) -> None:
    """Interpret `try` with its handlers, for errors of the run such as a missing key."""
    try:
        execute(node.body, scope)
    except (PortError, *LEAVING):
        raise
    except Exception as error:
        for handler in node.handlers:
            kinds = None if handler.type is None else scope.run.evaluate(handler.type, scope)
            if kinds is None or isinstance(error, real_of(kinds)):
                execute(handler.body, scope)
                return
        raise
    execute(node.orelse, scope)


def _delete(node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.values.pop(target.id, None)


def _pass(*_: Any) -> None:
    pass


def _break(*_: Any) -> None:
    raise Broken


def _continue(*_: Any) -> None:
    raise Continued


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Return: _return,
    ast.Expr: _expression, ast.If: _if, ast.Assert: _assert, ast.Raise: _raise,
    ast.For: loop_statements.for_loop, ast.While: loop_statements.while_loop,
    ast.With: with_statements.with_statement,
    ast.FunctionDef: _define, ast.Import: _import, ast.ImportFrom: _import, ast.Try: _try,
    ast.Delete: _delete, ast.Pass: _pass,
    ast.Break: _break, ast.Continue: _continue, ast.Global: _pass, ast.Nonlocal: _pass,
}  # fmt: skip
