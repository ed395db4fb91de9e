"""Interpret the targets of assignments: names, tuples, attributes and elements."""

from __future__ import annotations

import ast
import copy
from typing import Any

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.statements import stores
from jaxgrad.parity.port.values.binding import bind, stopped, with_name
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.lengths import is_counted
from jaxgrad.parity.port.values.results import method_names
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Items,
    Module,
    Size,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, has_list, tensors_in


def store(target: ast.expr, value: Value, scope: Scope) -> None:
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
        raise scope.refuse(
            "this target of an assignment is not ported"
            "; assign to a name, an attribute or an element",
            target,
        )


def _unpack(target: ast.Tuple | ast.List, value: Value, scope: Scope) -> None:
    parts = indexing.elements(value, scope, target)
    stars = [n for n, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
    if stars and is_counted(value, scope) and _unpack_star(target, stars[0], value, parts, scope):
        return
    if not stars and len(parts) != len(target.elts):
        raise scope.refuse(
            f"{len(parts)} values are unpacked into {len(target.elts)} names"
            "; assign as many names as there are values",
            target,
        )
    if scope.plain and not stars and not tensors_in(value):
        for inner, part in zip(target.elts, parts, strict=True):
            store(inner, part, scope)
        return
    nested = [t for t in target.elts if isinstance(t, ast.Tuple | ast.List | ast.Attribute)]
    if nested and value.code is not None and not stars:
        _unpack_nested(target, parts, value, scope)
        return
    simple = all(isinstance(t, ast.Name) for t in target.elts) and not stars
    if simple and any(isinstance(x, Tensor | Size) or _is_coded(x) for x in parts):
        _unpack_names(target, value, parts, scope)
        return
    value = computed_once(value, scope)
    parts = indexing.iterate(value, scope, target)
    if stars:
        rest = len(parts) - len(target.elts) + 1
        middle = Items(list, None, parts[stars[0] : stars[0] + rest])
        parts = [*parts[: stars[0]], middle, *parts[stars[0] + rest :]]
    if value.code is not None and not isinstance(value.code, ast.Name):
        code = scope.assign(scope.fresh("parts"), code_of(value))
        value = copy.copy(value)
        value.bind(code)
        parts = indexing.iterate(value, scope, target) if not stars else parts
    for inner, part in zip(target.elts, parts, strict=True):
        store(inner.value if isinstance(inner, ast.Starred) else inner, part, scope)


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
        whole = syntax.stopped(whole)
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
            store(inner, scope.values.pop(label.id), scope)


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
    methods = set().union(*map(method_names, parts))  # `func = Wrapped(func)` still reads `func`
    for name, part in zip(names, parts, strict=True):
        computed = is_dynamic(part) and not isinstance(part, Module | Closure)
        local = scope.local(name) if computed else "_"
        local = scope.fresh(name) if local in methods else local
        if computed or value.code is not None:
            elements.append(ast.Name(local, ast.Store()))
        scope.values[name] = with_name(name, part)
        if computed:
            bound = copy.copy(part)
            bound.code = syntax.name(local)
            scope.values[name] = bound
            if value.code is None:
                code = code_of(part)
                is_stopped = scope.no_grad and isinstance(part, Tensor)
                codes.append(stopped(part, code) if is_stopped else code)  # pyright: ignore[reportArgumentType]
    if value.code is None:
        code: ast.expr = codes[0] if len(codes) == 1 else ast.Tuple(codes, ast.Load())
    else:
        code = on_expression(value.code).unpacked or code_of(value)
        if _stops(value, scope):
            code = syntax.stopped(code)
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
