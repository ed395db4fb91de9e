"""The methods of lists, tuples and dicts, on values of the port."""

from __future__ import annotations

import ast
import math

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.functions import borrowed
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.binding import kept, stop_all
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.lengths import is_counted, pinned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Size,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, real_of


def call_method(
    owner: Items | Fields,
    name: str,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
) -> Value:
    """Interpret a method of a list, tuple or dict."""
    if name in _CHANGES:
        borrowed.require_own(owner, [*args, *keywords.values()], scope, node)
    if isinstance(owner, Items):
        return _list_method(owner, name, args, scope, node)
    if name == "get":
        key = pinned(args[0], scope, node)
        return (
            owner.at(key) if key in owner.fields else (args[1] if len(args) > 1 else Folded(None))
        )
    if name == "pop":
        key = pinned(args[0], scope, node)
        if key not in owner.fields:
            return args[1]
        value = owner.at(key)
        del owner.fields[key]
        return value
    if name in ("items", "values", "copy"):
        owner = computed_once(owner, scope)
    if name in ("items", "values", "keys"):
        pairs = [(Folded(k), owner.at(k)) for k in owner.fields]
        if name == "items":
            return Items(list, None, [Items(tuple, None, list(pair)) for pair in pairs])
        return Items(list, None, [pair[name == "values"] for pair in pairs])
    if name == "update":
        new = args[0] if args else Fields(dict, None, keywords)
        assert isinstance(new, Fields)
        owner.fields.update({k: new.at(k) for k in new.fields})
        if owner.code is not None:
            scope.emit(
                ast.Expr(syntax.call(syntax.attribute(code_of(owner), "update"), code_of(new)))
            )
        return Folded(None)
    if name == "copy":
        return Fields(owner.real, None, {k: owner.at(k) for k in owner.fields})
    raise scope.refuse(
        f"the method {name!r} of a dict is not ported; index the dict, or loop over its items", node
    )


_CHANGES = ("append", "extend", "insert", "reverse", "pop", "update", "add", "setdefault")


def _is_written(value: Value) -> bool:
    try:
        code_of(value)
    except PortError:
        return False
    return True


def _list_method(owner: Items, name: str, args: list[Value], scope: Scope, node: ast.AST) -> Value:
    if name in ("append", "extend"):
        added = stop_all(args[0]) if scope.no_grad else args[0]
        if (
            owner.code is not None
            and not _is_written(added)
            and not any(map(is_dynamic, owner.items))
        ):
            owner.hold(owner.items)  # a list of configuration
        if name == "append" and owner.code is None:
            owner.items.append(kept("item", added, scope, lasting=True))
        elif name == "append":
            owner.items.append(added)
        elif owner.code is None:
            owner.extend(indexing.iterate(added, scope, node))
        else:
            added_items = indexing.elements(added, scope, node)
            owner.extend(added_items, counted=is_counted(added, scope))
        if owner.code is not None:
            scope.emit(syntax.append_to(code_of(owner), code_of(added), method=name))
        return Folded(None)
    if name in ("insert", "reverse") and owner.real is list:
        added = [stop_all(x) if scope.no_grad else x for x in args[1:]]
        given = [*(pinned(x, scope, node) for x in args[:1]), *added]
        getattr(owner.items, name)(*given)
        if owner.code is not None:
            method = syntax.attribute(code_of(owner), name)
            scope.emit(ast.Expr(syntax.call(method, *map(code_of, [*args[:1], *added]))))
        return Folded(None)
    if name == "numel":
        return Size(
            math.prod(x.real for x in owner.items), syntax.call("math.prod", code_of(owner))
        )
    if name == "add" and owner.real is set and owner.code is None:
        if pinned(args[0], scope, node) not in map(real_of, owner.items):
            owner.items.append(args[0])
        return Folded(None)
    if name == "copy":
        code = None if owner.code is None else syntax.call_helper(Helper.LIST, code_of(owner))
        return Items(owner.real, code, list(owner.items), owner.counted)
    if name in ("index", "count"):
        values = [pinned(x, scope, node) for x in indexing.iterate(owner, scope, node)]
        return Folded(getattr(values, name)(*(pinned(x, scope, node) for x in args)))
    if name == "pop" and owner.real is list:
        value = owner.items.pop(*(pinned(x, scope, node) for x in args))
        if owner.code is None:
            return value
        method = syntax.attribute(code_of(owner), name)
        return renamed(value, scope.once(syntax.call(method, *map(code_of, args)), "last"))
    raise scope.refuse(
        f"the method {name!r} of a list is not ported; append to it or index it", node
    )
