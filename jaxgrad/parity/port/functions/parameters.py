"""Give the parameters of a Python function their values, and pass what the port computes."""

from __future__ import annotations

import ast
import copy
import dataclasses
import inspect
import types
from typing import Any

import torch

from jaxgrad.parity.port.functions import borrowed, closures
from jaxgrad.parity.port.ir import NameOf
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.numbers import is_long, is_number
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import port_name
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import is_torch
from jaxgrad.parity.port.values.constants import constant_tensor
from jaxgrad.parity.port.values.results import method_names
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Folded,
    Items,
    Method,
    Module,
    Object,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of, folded


Arguments = dict[str, ast.expr]  # the port's parameters, and what the caller passes for them


def bound_arguments(
    function: types.FunctionType,
    args: list[Value],
    keywords: dict[str, Value],
    inner: Scope,
    scope: Scope,
    node: ast.AST,
) -> Arguments:
    """Give the function's parameters their values; return what the port passes for each."""
    signature = inspect.signature(function, follow_wrapped=False)
    try:
        bound = signature.bind(*args, **keywords)
    except TypeError as error:
        raise scope.refuse(
            f"{function.__qualname__}: {error}; call it with the arguments that it takes", node
        ) from None
    passed: Arguments = {}
    only = sum(map(_holds_module, bound.arguments.values())) == 1
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind == parameter.VAR_POSITIONAL:
            values = bound.arguments.get(name, ())
            labels = _wrapped_names(function, number, len(values)) or [
                f"{name}_{n}" for n in range(len(values))
            ]
            parts = [
                passed_as("self" if isinstance(v, Module) and n == 0 else k, v, inner, passed)
                for n, (k, v) in enumerate(zip(labels, values, strict=True))
            ]
            inner.values[name] = Items(tuple, None, parts)
        elif parameter.kind == parameter.VAR_KEYWORD:
            values = bound.arguments.get(name, {})
            fields = {k: passed_as(k, v, inner, passed) for k, v in values.items()}
            inner.values[name] = Fields(dict, None, fields)
        elif name in bound.arguments:
            value = bound.arguments[name]
            is_self = _holds_module(value) and (number == 0 or only)
            inner.values[name] = passed_as("self" if is_self else name, value, inner, passed)
        else:
            inner.values[name] = _default(parameter.default, name, inner)
        named = _with_name(name, inner.values[name], function)
        if named is not inner.values[name] and name in bound.arguments:
            inner.folded[name] = code_of(bound.arguments[name])
        inner.values[name] = named
    return passed


def _holds_module(value: Any) -> bool:
    """Return whether an argument is a module, or one of its methods."""
    return isinstance(value.owner if isinstance(value, Method) else value, Module)


def _with_name(name: str, value: Value, function: types.FunctionType) -> Value:
    """Return a number that a function of the user takes under the name of its parameter."""
    if type(value) is not Folded or not is_number(value.real) or is_torch(function):
        return value
    formula = value.formula if is_long(value.real) else None
    return folded(value.real, name, NameOf.ARGUMENT, formula)


def _wrapped_names(function: types.FunctionType, first: int, count: int) -> list[str]:
    """Return the names that a decorated function gives some of its arguments."""
    if not hasattr(function, "__wrapped__"):
        return []
    names = list(inspect.signature(function).parameters)[first : first + count]
    return names if len(names) == count else []


def _default(real: Any, name: str, scope: Scope) -> Value:
    return constant_tensor(real, name, scope) if isinstance(real, torch.Tensor) else Folded(real)


def passed_as(name: str, value: Value, inner: Scope, passed: Arguments) -> Value:
    """Return the value of an argument inside of the function, under the name of its parameter."""
    if isinstance(value, Closure):
        return closures.moved(value, inner, lambda n, v: passed_as(n, v, inner, passed))
    new = _passed_as(name, value, inner, passed)
    borrowed.note(new, inner)
    return new


def _passed_as(name: str, value: Value, inner: Scope, passed: Arguments) -> Value:
    if not is_dynamic(value):
        return value
    if isinstance(value, Method):
        return dataclasses.replace(value, owner=passed_as(name, value.owner, inner, passed))
    if method_names(value):
        return _parts(name, value, inner, passed)
    try:
        code = code_of(value)
    except PortError:
        return _parts(name, value, inner, passed)
    label = inner.renamed.get(name) or port_name(name)
    local = syntax.unique(PARAMS if name == "self" else label, passed)
    passed[local] = code
    inner.names.add(local)
    new = renamed(value, syntax.name(local))
    if new is value:
        new = copy.copy(value)
        new.code = syntax.name(local)
    return new


def _parts(name: str, value: Value, inner: Scope, passed: Arguments) -> Value:
    """Pass each part of a container that cannot be written as one expression."""
    if isinstance(value, Items):
        parts = [
            passed_as(f"{name}_{n}", value.at(n), inner, passed) for n in range(len(value.items))
        ]
        return Items(value.real, None, parts)
    if isinstance(value, Fields):
        is_self = name == "self"
        fields = {
            k: passed_as(
                str(k).strip("_") if is_self else f"{name}_{k}", value.at(k), inner, passed
            )
            for k in value.fields
        }
        if isinstance(value, Object):
            return Object(value.real, None, fields, passed=True)
        return Fields(value.real, None, fields)
    return value
