"""Interpret tuples, lists and dicts that are written out, with `*` and `**` in them."""

from __future__ import annotations

import ast
from typing import Any

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Fields, Folded, Items, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def tuple_display(node: ast.Tuple, scope: Scope) -> Value:
    """Return the tuple that is written out."""
    if not any(isinstance(x, ast.Starred) for x in node.elts):
        return Items(tuple, None, elements(node.elts, scope))
    return joined(tuple, *(_side(x, scope) for x in node.elts))


def _side(node: ast.expr, scope: Scope) -> Items:
    """Return what an element of a tuple adds to it: `*x` all parts of `x`."""
    if not isinstance(node, ast.Starred):
        return Items(tuple, None, [scope.run.evaluate(node, scope)])
    value = scope.run.evaluate(node.value, scope)
    if isinstance(value, Items):
        return value
    return Items(tuple, None, indexing.iterate(value, scope, node))


def list_display(node: ast.List, scope: Scope) -> Value:
    """Return the list that is written out."""
    sides = [_side(x, scope) for x in node.elts]
    if any(x.counted for x in sides):
        return joined(list, *sides)
    parts = [computed_once(x, scope) for x in sides]
    return Items(list, None, [x.at(n) for x in parts for n in range(len(x.items))])


def set_display(node: ast.Set, scope: Scope) -> Value:
    """Return the set that is written out; a set of configuration is folded."""
    items = elements(node.elts, scope)
    if all(isinstance(x, Folded) for x in items):
        return Folded({x.real for x in items})
    return Items(set, None, items)


def joined(kind: type, *sides: Items) -> Items:
    """Return a tuple or list of the elements of others."""
    parts = [x.at(n) for x in sides for n in range(len(x.items))]
    elements = spread(*sides)
    if elements is not None and kind is list:
        elements = ast.List(elements.elts, ast.Load())
    return Items(kind, elements, parts, any(x.counted for x in sides))


def elements(nodes: list[ast.expr], scope: Scope) -> list[Value]:
    """Return the values of expressions, with each `*x` spread."""
    found: list[Value] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found += indexing.iterate(scope.run.evaluate(node.value, scope), scope, node)
        else:
            found.append(scope.run.evaluate(node, scope))
    return found


def dict_display(node: ast.Dict, scope: Scope) -> Value:
    """Return the dict that is written out."""
    fields: dict[Any, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = computed_once(scope.run.evaluate(value, scope), scope)
            if isinstance(inner, Fields):
                fields |= {k: inner.at(k) for k in inner.fields}
            else:
                fields |= {k: Folded(x) for k, x in dict(real_of(inner)).items()}
        else:
            name = pinned(scope.run.evaluate(key, scope), scope, node)
            fields[name] = scope.run.evaluate(value, scope)
    return Fields(dict, None, fields)


def spread(*sides: Items) -> ast.Tuple | None:
    """Return `(*x.shape[:-1], 4)` for a sum of tuples, one of which is an expression."""
    whole = [x for x in sides if x.counted or (x.code is not None and len(x.items) != 1)]
    if not whole:
        return None
    elements: list[ast.expr] = []
    for x in sides:
        try:
            if x in whole:
                elements.append(ast.Starred(code_of(x), ast.Load()))
            else:
                elements += [code_of(x.at(n)) for n in range(len(x.items))]
        except PortError:
            return None  # an element such as a device, which the port does not have
    return ast.Tuple(elements, ast.Load())
