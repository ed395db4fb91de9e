"""The elements of a container, a tensor or a list of modules: by index, or one after the other."""

from __future__ import annotations

import ast
import types

import numpy as np
from torch import nn

from jaxgrad.parity.port.expressions.attributes import constant_value, read
from jaxgrad.parity.port.expressions.positions import axis_of
from jaxgrad.parity.port.expressions.submodules import child
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.values.computed import computed_once
from jaxgrad.parity.port.values.lengths import is_counted, pinned, require_length
from jaxgrad.parity.port.values.parts import is_numbered, reached
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Chain,
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Size,
    Tensor,
    TensorMethod,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, real_of


def index(value: Value, key: Value, scope: Scope, node: ast.AST) -> Value:
    """Return the value of `value[key]`."""
    if isinstance(value, Tensor):
        return scope.run.call(TensorMethod("__getitem__", None, value), [key], {}, scope, node)
    axis_of(value, key, scope, node)  # a list has no slice that begins at a tensor
    if isinstance(value, Items):
        return _of_items(value, key, scope, node)
    own = getattr(type(value.real), "__getitem__", None) if isinstance(value, Module) else None
    if isinstance(own, types.FunctionType) and not is_torch(type(value.real)):
        return scope.run.call(Method(own, None, value), [key], {}, scope, node)
    if isinstance(value, Size) and np.ndim(value.real):
        part = value.real[real_of(key)]
        return Size(part, ast.Subscript(code_of(value), code_of(key), ast.Load()))
    real = pinned(key, scope, node)
    if isinstance(value, Fields):
        return value.at(
            list(value.fields)[real] if isinstance(real, int) and real not in value.fields else real
        )
    if isinstance(value, Module):
        return _of_modules(value, key, scope, node)
    if isinstance(value, Size):
        raise scope.refuse("an element of a number; use the number itself", node)
    return constant_value(value.real[real], getattr(value, "origin", ""), scope)


def _of_items(value: Items, key: Value, scope: Scope, node: ast.AST) -> Value:
    """Return an element of a list or tuple, or a part of it."""
    real = real_of(key)
    if value.code is None:
        real = pinned(key, scope, node)
    if isinstance(real, slice):
        return _slice(value, key)
    if isinstance(key, Size) and value.code is not None:
        found = value.items[real]
        if not is_dynamic(found):
            pinned(key, scope, node)
        return renamed(found, ast.Subscript(code_of(value), code_of(key), ast.Load()))
    if real >= 0 or value.code is None:
        return value.at(int(real))
    return renamed(value.at(real % len(value.items)), syntax.item(code_of(value), int(real)))


def _slice(value: Items, key: Value) -> Items:
    positions = range(len(value.items))[real_of(key)]
    if value.code is None or not is_dynamic(value):
        return type(value)(value.real, None, [value.at(n) for n in positions])
    code = ast.Subscript(code_of(value), code_of(key), ast.Load())
    counted = value.counted or isinstance(key, Size)
    parts = [value.at(n) for n in positions]
    if counted:
        parts = [renamed(x, syntax.item(code, n)) for n, x in enumerate(parts)]
    return Items(value.real, code, parts, counted)


def _of_modules(value: Module, place: Value, scope: Scope, node: ast.AST) -> Value:
    names, key = list(value.real._modules), pinned(place, scope, node)
    if isinstance(value.real, nn.ParameterList) and isinstance(key, int):
        return read(value, str(key % len(value.real)), scope, node)
    if isinstance(key, slice):
        if names[key] == names:
            return value
        kind = Chain if isinstance(value.real, nn.Sequential) else Items
        return kind(list, None, [child(value, n) for n in names[key]])
    name = key if isinstance(key, str) else names[int(key)]
    if name not in value.real._modules:
        if isinstance(value.real, nn.ParameterList | nn.ParameterDict):
            return read(value, str(key), scope, node)
        raise scope.refuse(f"there is no module {key!r}; use a key that the container has", node)
    found = child(value, name)
    if isinstance(place, Size) and is_numbered(value.real) and not scope.run.numbered:
        code = ast.Subscript(code_of(value), code_of(place), ast.Load())
        found.code = reached(value, name, code)
    return found


def iterate(value: Value, scope: Scope, node: ast.AST) -> list[Value]:
    """Return every element of a value, whose number the port asserts if it depends on a size."""
    if is_counted(value, scope):
        value = value if isinstance(value, Items) and value.code is None else _named(value, scope)
        require_length(value, scope, node)
    return elements(computed_once(value, scope), scope, node)


def _named(value: Value, scope: Scope) -> Value:
    return renamed(value, scope.once(code_of(value), "parts"))


def elements(value: Value, scope: Scope, node: ast.AST) -> list[Value]:
    """Return every element of a value that the port goes over as a whole."""
    if isinstance(value, Items):
        return [value.at(n) for n in range(len(value.items))]
    if isinstance(value, Fields):
        if value.by_attribute:
            return [value.at(key) for key in value.fields]
        return [Folded(key) for key in value.fields]
    if isinstance(value, Module):
        if isinstance(value.real, nn.ParameterList):
            return [read(value, str(n), scope, node) for n in range(len(value.real))]
        if isinstance(value.real, nn.ModuleDict):
            return [Folded(key) for key in value.real._modules]
        scope.run.used.add(value.path)  # it has a place in the params, even without a tensor
        return [child(value, name) for name in value.real._modules]
    if isinstance(value, Tensor):
        code = code_of(value)
        return [Tensor(x, syntax.item(code, n)) for n, x in enumerate(value.real)]
    return [constant_value(x, "", scope) for x in real_of(value)]
