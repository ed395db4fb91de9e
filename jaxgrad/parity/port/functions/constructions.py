"""Interpret the call of a class: an object of the program, or a value that is folded."""

from __future__ import annotations

import ast
import inspect

from torch import nn

from jaxgrad.parity.port.functions import objects
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import (
    Chain,
    Fields,
    Module,
    Value,
)
from jaxgrad.parity.port.values.values import is_computed


def construct(
    kind: type, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Return a record: a dataclass, a named tuple or a mapping of outputs."""
    if kind is nn.Sequential and all(_is_module(x) for x in args) and not keywords:
        return Chain(tuple, None, list(args))
    try:
        bound = inspect.signature(kind).bind(*args, **keywords)
    except (TypeError, ValueError) as error:
        raise scope.refuse(
            f"{kind.__name__}: {error}; call it with the arguments that it takes", node
        ) from None
    is_record = (
        hasattr(kind, "__dataclass_fields__") or hasattr(kind, "_fields") or issubclass(kind, dict)
    )
    if not is_record and objects.is_plain(kind):
        return objects.construct(kind, args, keywords, scope, node)
    if not is_record:
        raise scope.refuse(
            f"an object of type {kind.__name__} is made of tensors; pass the tensors themselves",
            node,
        )
    fields = dict(bound.arguments)
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind == parameter.VAR_KEYWORD:
            fields |= fields.pop(name, {})
    kept = {k: v for k, v in fields.items() if _is_needed(kind, k) or _is_present(v)}
    return Fields(kind, None, kept)


def _is_needed(kind: type, name: str) -> bool:
    """Return whether a record cannot be made without a field, even if the field is None."""
    if hasattr(kind, "_fields"):
        return True
    parameter = inspect.signature(kind).parameters.get(name)
    return parameter is not None and parameter.default is parameter.empty


def _is_present(value: Value) -> bool:
    return value.real is not None or is_computed(value)


def _is_module(value: Value) -> bool:
    return isinstance(value, Module) or isinstance(value.real, nn.Module)
