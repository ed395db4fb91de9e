"""Interpret lambdas and nested functions, which read the variables of the function around them."""

from __future__ import annotations

import ast
import collections
import dataclasses
from collections.abc import Callable

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.leaving import Returned
from jaxgrad.parity.port.values.scope import Frame, Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Differentiated,
    Fields,
    Folded,
    Items,
    Mapped,
    Partial,
    Size,
    Tensor,
    Value,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of


def define(node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Closure:
    """Return the value of a lambda or of a nested `def`."""
    return Closure(node, None, scope, scope.source)


def call(
    closure: Closure, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret a call of a lambda or of a nested function, in place."""
    if closure.scope is not scope:
        raise scope.refuse(
            "a nested function is called outside of the function that defines it"
            "; return its result, or define it where it is called",
            node,
        )
    values = _arguments(closure, args, keywords, scope, node)
    saved = dict(scope.values)
    own = syntax.assigned(closure.real) - syntax.nonlocals(closure.real)
    renamed = scope.renamed | {n: scope.fresh(n) for n in sorted(own) if n in saved}
    scope.values.update(closure.captured | values)
    shown = scope.shown if closure.source is scope.source else 0
    frame = Frame(scope.values, closure.source, renamed, scope.resume, shown, scope.plain)
    left = scope.enter(frame)
    try:
        return interpret(closure.real, scope)
    finally:
        scope.enter(left)
        for name in set(scope.values) - set(saved) | set(values) | set(closure.captured) | own:
            scope.values.pop(name, None)
            if name in saved:
                scope.values[name] = saved[name]


def _arguments(
    closure: Closure, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> dict[str, Value]:
    own = closure.real.args
    positional = [a.arg for a in (*own.posonlyargs, *own.args)]
    names = [*positional, *(a.arg for a in own.kwonlyargs)]
    values = dict(zip(positional, args, strict=False))
    values |= {k: x for k, x in keywords.items() if k in names}
    given = zip(positional[len(positional) - len(own.defaults) :], own.defaults, strict=True)
    named = zip((a.arg for a in own.kwonlyargs), own.kw_defaults, strict=True)
    for name, default in (*given, *named):
        if default is not None and name not in values:
            values[name] = scope.run.evaluate(default, scope)
    more = {k: x for k, x in keywords.items() if k not in names}
    if own.vararg is not None:
        names.append(own.vararg.arg)
        values[own.vararg.arg] = Items(tuple, None, args[len(positional) :])
    elif len(args) > len(positional):
        names.append("*")  # an argument too many
    if own.kwarg is not None:
        names.append(own.kwarg.arg)
        values[own.kwarg.arg] = Fields(dict, None, more)
    elif more:
        names.append("**")
    if set(values) != set(names):
        raise scope.refuse(
            "this call of a nested function is not ported"
            "; call it with the arguments that it takes",
            node,
        )
    reads = collections.Counter(syntax.names_in(closure.real))
    return {name: once(name, x, scope) if reads[name] > 1 else x for name, x in values.items()}


def once(name: str, value: Value, scope: Scope) -> Value:
    """Return an argument that is computed once, however often the function reads it."""
    if not isinstance(value, Tensor | Size):
        return computed_once(value, scope, name)
    return renamed(value, scope.once(code_of(value), name))


def interpret(node: ast.FunctionDef | ast.Lambda, scope: Scope) -> Value:
    """Interpret the body of a function, and return what it returns."""
    if isinstance(node, ast.Lambda):
        return scope.run.evaluate(node.body, scope)
    try:
        scope.run.execute(node.body, scope)
    except Returned as returned:
        return returned.value
    return Folded(None)


def captured(closure: Closure) -> dict[str, Value]:
    """Return the variables of the function around a nested function that it reads."""
    if isinstance(closure, Partial):
        return {}
    if isinstance(closure, Mapped | Differentiated):
        return captured(closure.function) if isinstance(closure.function, Closure) else {}
    own = {a.arg for a in closure.real.args.args}
    values = closure.scope.values | closure.captured
    return {
        name: values[name]
        for name in dict.fromkeys(syntax.names_in(closure.real))
        if name in values and name not in own and values[name] is not closure
    }


def moved(closure: Closure, scope: Scope, carry: Callable[[str, Value], Value]) -> Closure:
    """Return a nested function in another scope, with what it captured under its names there.

    Args:
        closure: The function.
        scope: Where it will be called.
        carry: Takes the name and the value of a captured variable, and returns its value in
            `scope`.
    """
    if isinstance(closure, Partial):
        given = {f"argument_{n}": x for n, x in enumerate(closure.args)} | closure.keywords
        values = {n: _carried(n, x, scope, carry) for n, x in given.items()}
        keywords = {n: values.pop(n) for n in closure.keywords}
        function = _carried("function", closure.function, scope, carry)
        return dataclasses.replace(
            closure, scope=scope, function=function, args=list(values.values()), keywords=keywords
        )
    if isinstance(closure, Mapped | Differentiated):
        function = closure.function
        if isinstance(function, Closure):
            function = moved(function, scope, carry)
        return dataclasses.replace(closure, function=function, scope=scope)
    values = {n: _carried(n, value, scope, carry) for n, value in captured(closure).items()}
    return dataclasses.replace(closure, scope=scope, captured=values)


def _carried(name: str, value: Value, scope: Scope, carry: Callable[[str, Value], Value]) -> Value:
    if isinstance(value, Closure):
        return moved(value, scope, carry)
    if isinstance(value, Items) and any(isinstance(x, Closure) for x in value.items):
        items = [_carried(f"{name}_{n}", x, scope, carry) for n, x in enumerate(value.items)]
        return Items(value.real, None, items)
    return carry(name, value)
