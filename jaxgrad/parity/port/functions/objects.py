"""Objects of Python classes that are made of tensors, such as `torch.distributions.Normal`.

The port has no such object: each attribute is a value of its own. A method that sets attributes
is interpreted where it is called, and any other method becomes a function of the attributes.
"""

from __future__ import annotations

import ast
import functools
import inspect
import types
from typing import Any

import torch
from torch import nn
from torch.distributions.utils import lazy_property

from jaxgrad.parity.port.functions import inlined
from jaxgrad.parity.port.functions.functions import call_function
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.values.binding import kept
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Method, Object, Value
from jaxgrad.parity.port.values.values import folded


def is_plain(kind: type) -> bool:
    """Return whether the objects of a class can be taken apart: its `__init__` is Python."""
    if issubclass(kind, nn.Module):
        return not is_torch(kind) and isinstance(vars(kind).get("forward"), types.FunctionType)
    return isinstance(kind.__init__, types.FunctionType) and not issubclass(
        kind, torch.Tensor | BaseException
    )


def construct(
    kind: type, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Object:
    """Interpret `kind(...)`."""
    init: Any = kind.__init__
    has_checks = "validate_args" in inspect.signature(init).parameters
    if issubclass(kind, torch.distributions.Distribution) and has_checks:
        keywords = keywords | {"validate_args": Folded(False)}  # checks change no gradient
    made = Object(kind)
    inlined.run(init, [made, *args], keywords, scope, node)
    return made


def read(value: Object, name: str, scope: Scope, node: ast.AST) -> Value:
    """Return the value of an attribute."""
    if name in value.fields:
        return value.at(name)
    found = inspect.getattr_static(value.real, name, _MISSING)
    if found is _MISSING:
        raise scope.refuse(
            f"{value.real.__name__} has no attribute {name!r} here; set it in the constructor", node
        )
    if isinstance(found, property) and found.fget is not None:
        return scope.run.call(Method(found.fget, None, value), [], {}, scope, node)
    if isinstance(found, functools.cached_property | lazy_property):
        function = found.func if isinstance(found, functools.cached_property) else found.wrapped
        value.fields[name] = scope.run.call(Method(function, None, value), [], {}, scope, node)
        return value.fields[name]
    if isinstance(found, types.FunctionType):
        return Method(found, None, value)
    return folded(getattr(value.real, name), name)


_MISSING = object()


def store(owner: Object, name: str, value: Value, scope: Scope, node: ast.AST) -> None:
    """Interpret `self.name = value`."""
    if owner.passed:
        raise scope.refuse(
            f"`{name}` of an object that is an argument is set; set it where the object is made",
            node,
        )
    owner.fields[name] = kept(name.strip("_"), value, scope)


def call(
    value: Object, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret the call of an object, which may be a module that the program makes."""
    name = "forward" if issubclass(value.real, nn.Module) else "__call__"
    function = getattr(value.real, name, None)
    if not isinstance(function, types.FunctionType):
        raise scope.refuse(
            f"an object of type {value.real.__name__} is called; define `__call__` in its class",
            node,
        )
    return call_method(Method(function, None, value), args, keywords, scope, node)


def call_method(
    method: Method, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret a call of a method of an object."""
    assert isinstance(method.owner, Object)
    function, given = method.real, [method.owner, *args]
    if _sets_attributes(function):
        return inlined.run(function, given, keywords, scope, node)
    kind = method.kind or method.owner.real
    return call_function(function, given, keywords, scope, node, kind)


@functools.cache
def _sets_attributes(function: types.FunctionType) -> bool:
    tree = source_of(function).node
    return function.__name__ == "__init__" or any(
        isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) for n in ast.walk(tree)
    )
