"""Interpret a Python function of the torch program, and write it as a function of the port."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import re
import types
from typing import Any

import torch

from jaxgrad.parity.port import closures, draws, state, syntax
from jaxgrad.parity.port.cleaning import cleaned
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.port.scope import RESERVED, Run, Scope, Written, port_name, renames
from jaxgrad.parity.port.source import is_torch, source_of
from jaxgrad.parity.port.values import (
    Closure,
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Object,
    Value,
    code_of,
    is_dynamic,
    renamed,
)


DEEPEST = 60
_Arguments = dict[str, ast.expr]  # the port's parameters, and what the caller passes for them


def call_function(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    scope: Scope,
    node: ast.AST,
    owner: type | None = None,
) -> Value:
    """Interpret a call of a Python function, and return the value of the call in the port.

    A function of torch itself that is one expression is written in its caller.
    """
    run = scope.run
    if len(run.scopes) > DEEPEST:
        raise scope.refuse(f"{function.__qualname__} calls itself more than {DEEPEST} times", node)
    source = source_of(function)
    inner = Scope(run, source, {}, renamed=renames(source.node))
    passed = _parameters(function, args, keywords, inner, scope, node)
    inner.stateful = (function.__code__, _path(inner)) in run.other_mode.stateful
    run.scopes.append(inner)
    try:
        result = closures.interpret(source.node, inner)
    except PortError as error:
        if error.place is None:
            raise PortError(error.reason, inner.place()) from error
        raise
    finally:
        run.scopes.pop()
    if isinstance(result, Closure) and result.scope is inner:
        return _leave(result, inner, function, passed, scope, node)
    return _write(result, inner, function, owner, passed, scope, node)


def _leave(
    closure: Closure,
    inner: Scope,
    function: types.FunctionType,
    passed: _Arguments,
    scope: Scope,
    node: ast.AST,
) -> Value:
    """Return a nested function to the caller: the port returns what it captured."""
    held: dict[str, Value] = {}

    def collect(name: str, value: Value) -> Value:
        if is_dynamic(value):
            held[syntax.unique(name, held)] = value
        return value

    closures.moved(closure, inner, collect)
    new: dict[int, Value] = {}
    if held:
        carried = Items(tuple, None, list(held.values()))
        parts = _write(carried, inner, function, None, passed, scope, node, leaves=True)
        assert isinstance(parts, Items)
        for n, (name, old) in enumerate(held.items()):
            part = parts.at(n)
            new[id(old)] = renamed(part, scope.once(code_of(part), name))
    return closures.moved(closure, scope, lambda _, value: new.get(id(value), value))


def _write(
    result: Value,
    inner: Scope,
    function: types.FunctionType,
    owner: type | None,
    passed: _Arguments,
    scope: Scope,
    node: ast.AST,
    leaves: bool = False,
) -> Value:
    """Add the function that was interpreted to the port, and return the value of its call."""
    run, place = scope.run, (function.__code__, _path(inner))
    returned = ast.Return(_returned(result))
    body = cleaned([*inner.body, returned])
    if inner.stateful:
        returned = ast.Return(ast.Tuple([_returned(result), syntax.name("p")], ast.Load()))
    elif (
        not _is_entry(function, run)
        and place not in run.other_mode.written
        and _is_inline(function, body, passed, leaves)
    ):
        return _result(result, syntax.substitute(returned.value, passed))
    inner.emit(returned)
    run.calls.written.add(place)
    if inner.stateful:
        run.calls.stateful.add(place)
    body = cleaned(inner.body)
    read = {name for statement in body for name in syntax.names_in(statement)}
    if draws.RNG in read:
        passed[draws.RNG] = draws.key(_base_name(function, owner, _path(inner)))
    used = {name: code for name, code in passed.items() if name in read}
    written = add(function, owner, list(used), body, run, _path(inner))
    code = syntax.call_written(written.name, *used.values())
    if inner.stateful:
        return _result(result, state.call(result, code, passed["p"], scope, node))
    return _result(result, code)


def _parameters(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    inner: Scope,
    scope: Scope,
    node: ast.AST,
) -> _Arguments:
    """Give the function's parameters their values; return what the port passes for each."""
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        raise scope.refuse(f"{function.__qualname__}: {error}", node) from None
    passed: _Arguments = {}
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind == parameter.VAR_POSITIONAL:
            values = bound.arguments.get(name, ())
            labels = _wrapped_names(function, len(values)) or [
                f"{name}_{n}" for n in range(len(values))
            ]
            parts = [
                _parameter("self" if isinstance(v, Module) and n == 0 else k, v, inner, passed)
                for n, (k, v) in enumerate(zip(labels, values, strict=True))
            ]
            inner.values[name] = Items(tuple, None, parts)
        elif parameter.kind == parameter.VAR_KEYWORD:
            values = bound.arguments.get(name, {})
            fields = {k: _parameter(k, v, inner, passed) for k, v in values.items()}
            inner.values[name] = Fields(dict, None, fields)
        elif name in bound.arguments:
            value = bound.arguments[name]
            is_self = number == 0 and isinstance(value, Module)
            inner.values[name] = _parameter("self" if is_self else name, value, inner, passed)
        else:
            inner.values[name] = _default(parameter.default, name)
    return passed


def _wrapped_names(function: types.FunctionType, count: int) -> list[str]:
    """Return the names that a decorated function gives its first arguments."""
    if not hasattr(function, "__wrapped__"):
        return []
    names = list(inspect.signature(function).parameters)[:count]
    return names if len(names) == count else []


def _default(real: Any, name: str) -> Value:
    if isinstance(real, torch.Tensor):
        raise PortError(f"the default of the argument {name!r} is a tensor")
    return Folded(real)


def _parameter(name: str, value: Value, inner: Scope, passed: _Arguments) -> Value:
    """Return the value of an argument inside of the function, under the name of its parameter."""
    if isinstance(value, Closure):
        return closures.moved(value, inner, lambda n, v: _parameter(n, v, inner, passed))
    if not is_dynamic(value):
        return value
    if isinstance(value, Method):
        return dataclasses.replace(value, owner=_parameter(name, value.owner, inner, passed))
    try:
        code = code_of(value)
    except PortError:
        return _parts(name, value, inner, passed)
    label = inner.renamed.get(name) or port_name(name)
    local = syntax.unique("p" if name == "self" else label, passed)
    passed[local] = code
    inner.names.add(local)
    new = renamed(value, syntax.name(local))
    if new is value:
        new = copy.copy(value)
        new.code = syntax.name(local)
    return new


def _parts(name: str, value: Value, inner: Scope, passed: _Arguments) -> Value:
    """Pass each part of a container that cannot be written as one expression."""
    if isinstance(value, Items):
        parts = [
            _parameter(f"{name}_{n}", value.at(n), inner, passed) for n in range(len(value.items))
        ]
        return Items(value.real, None, parts)
    if isinstance(value, Fields):
        is_self = name == "self"
        fields = {
            k: _parameter(
                str(k).strip("_") if is_self else f"{name}_{k}", value.at(k), inner, passed
            )
            for k in value.fields
        }
        if isinstance(value, Object):
            return Object(value.real, None, fields, passed=True)
        return Fields(value.real, None, fields)
    return value


def _returned(result: Value) -> ast.expr:
    try:
        return code_of(result)
    except PortError:
        if isinstance(result, Items | Fields):
            return _computed_parts(result)
        return syntax.constant(None)


def _computed_parts(result: Items | Fields) -> ast.expr:
    """Return the parts of a result that the port computes, with None for the others."""

    def code(value: Value) -> ast.expr:
        try:
            return code_of(value)
        except PortError:
            return syntax.constant(None)

    if isinstance(result, Items):
        return ast.Tuple([code(x) for x in result.items], ast.Load())
    keys: list[ast.expr | None] = [syntax.literal(k) for k in result.fields]
    return ast.Dict(keys, [code(x) for x in result.fields.values()])


def _result(result: Value, code: ast.expr) -> Value:
    """Return the value of a call whose result is known."""
    if isinstance(result, Module | Closure) or not is_dynamic(result):
        return result
    if isinstance(result, Method):
        return result
    new = copy.copy(result)
    if isinstance(new, Items | Fields) and isinstance(code, ast.Tuple | ast.Dict | ast.List):
        parts = code.values if isinstance(code, ast.Dict) else code.elts
        values = [_result(x, c) for x, c in zip(_members(new), parts, strict=True)]
        if isinstance(new, Items):
            return Items(new.real, None, values)
        return Fields(new.real, None, dict(zip(new.fields, values, strict=True)))
    if isinstance(new, Items):
        new.items = list(new.items)
    new.code = code
    return new


def _members(value: Items | Fields) -> list[Value]:
    if isinstance(value, Items):
        return value.items
    return list(value.fields.values())


def _is_entry(function: types.FunctionType, run: Run) -> bool:
    forward = run.module.forward
    return len(run.scopes) == 1 and getattr(forward, "__func__", None) is function


def _is_inline(
    function: types.FunctionType, body: list[ast.stmt], passed: _Arguments, leaves: bool
) -> bool:
    """Return whether a call of torch's code, or of what returns a function, is one expression."""
    is_short = function.__name__ == "<lambda>" or is_torch(function) or leaves
    if not is_short or len(body) != 1:
        return False
    reads = syntax.names_in(body[0])
    for name, code in passed.items():
        simple = isinstance(code, ast.Name) or (name == "p" and reads.count(name) <= 2)
        if reads.count(name) > 1 and not simple:
            return False
    return True


def add(
    function: types.FunctionType,
    owner: type | None,
    parameters: list[str],
    body: list[ast.stmt],
    run: Run,
    path: str,
) -> Written:
    """Return the function of the port with this body, which is written once."""
    node = syntax.function("_", parameters, body)
    for other in run.written:
        same_source = (
            isinstance(other.node, ast.FunctionDef)
            and other.function.__code__ is function.__code__
            and other.owner is owner
        )
        if same_source and _same_body(other.node, node):
            return other
    written = Written(_function_name(function, owner, run, path), function, node, owner)
    run.written.append(written)
    return written


def _path(scope: Scope) -> str:
    module = next(iter(scope.values.values()), None)
    return module.path if isinstance(module, Module) else ""


def _same_body(left: ast.FunctionDef, right: ast.FunctionDef) -> bool:
    pairs = zip(left.body, right.body, strict=False)
    return (
        len(left.body) == len(right.body)
        and syntax.same(left.args, right.args)
        and all(syntax.same(a, b) for a, b in pairs)
    )


def _base_name(function: types.FunctionType, owner: type | None, path: str) -> str:
    """Return the name of a function: its own, or that of the class whose forward it is."""
    base = function.__name__.strip("_")
    if owner is not None and function.__name__ == "forward":
        base = snake(owner.__name__)
        label = path.rpartition(".")[2]
        if is_torch(function) and label.isidentifier():
            base = snake(label)  # a Sequential is named after its attribute
    return base if base.isidentifier() else "function"


def _function_name(function: types.FunctionType, owner: type | None, run: Run, path: str) -> str:
    """Return a name that no function of the port has yet."""
    base = _base_name(function, owner, path)
    taken = {w.name for w in run.written} | RESERVED
    if not _is_entry(function, run):
        taken.add(snake(type(run.module).__name__))
    if base in taken and owner is not None and function.__name__ != "forward":
        base = f"{snake(owner.__name__)}_{base}"
    return syntax.unique(base, taken)


def snake(name: str) -> str:
    """Return `LayerNorm2d` as `layer_norm2d`."""
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z\d])([A-Z])", r"\1_\2", spaced).lower().strip("_")
