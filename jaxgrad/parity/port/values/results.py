"""What a function of the port returns, and the value of its call."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Mapping

from torch.distributions import Distribution

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.value_types import (
    Closure,
    Fields,
    Items,
    Method,
    Module,
    Object,
    Partial,
    Tensor,
    Value,
    is_dynamic,
    renamed,
)
from jaxgrad.parity.port.values.values import code_of
from jaxgrad.parity.prove.record.torch_side.trees import public_names


def returned_code(result: Value) -> ast.expr:
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
            if isinstance(value, Items | Fields) and is_dynamic(value):
                return _computed_parts(value)
            return syntax.constant(None)

    if isinstance(result, Items):
        return ast.Tuple([code(x) for x in result.items], ast.Load())
    keys: list[ast.expr | None] = [syntax.literal(k) for k in result.fields]
    return ast.Dict(keys, [code(x) for x in result.fields.values()])


def lost_parts(result: Value, path: str = "the output") -> list[str]:
    """Return a text for each part of a result for which the port returns None."""
    try:
        code_of(result)
    except PortError:
        if isinstance(result, Items):
            pairs = [(f"{path}[{n}]", x) for n, x in enumerate(result.items)]
        elif isinstance(result, Fields):
            pairs = [(f"{path}[{k!r}]", x) for k, x in result.fields.items()]
        else:
            real = result.real
            kind = "a function" if isinstance(result, Closure | Method) else type(real).__name__
            return [f"{path}: {kind}"]
        return [text for place, x in pairs for text in lost_parts(x, place)]
    return []


def public(result: Value) -> Value:
    """Return what a module returns, with the tensors of each distribution in a dict."""
    if isinstance(result, Object) and issubclass(result.real, Distribution):
        parts = {k: x for k, x in result.fields.items() if isinstance(x, Tensor | Object)}
        return Fields(dict, None, {k: public(parts[k]) for k in public_names(parts)})
    if isinstance(result, Items) and result.code is None:
        return dataclasses.replace(result, items=list(map(public, result.items)))
    if isinstance(result, Fields) and not isinstance(result, Object) and result.code is None:
        fields = {k: public(x) for k, x in result.fields.items()}
        return dataclasses.replace(result, fields=fields)
    return result


def result_of(result: Value, code: ast.expr) -> Value:
    """Return the value of a call whose result is known."""
    if isinstance(result, Module | Closure) or not is_dynamic(result):
        return result
    if isinstance(result, Method):
        return result
    new = copy.copy(result)
    if isinstance(new, Items | Fields) and isinstance(code, ast.Tuple | ast.Dict | ast.List):
        parts = code.values if isinstance(code, ast.Dict) else code.elts
        values = [result_of(x, c) for x, c in zip(_members(new), parts, strict=True)]
        if isinstance(new, Items):
            return Items(new.real, None, values)
        return Fields(new.real, None, dict(zip(new.fields, values, strict=True)))
    if isinstance(new, Items):
        new.items = list(new.items)
    new.code = code
    return new


def outside(result: Value, passed: Mapping[str, ast.expr]) -> Value:
    """Return a result whose modules, and whose methods of modules, are those of the caller.

    Args:
        result: What the function returns; an element of a container has the container's code.
        passed: What the caller passes for each argument.
    """
    if isinstance(result, Module) and result.code is not None:
        return renamed(result, syntax.substitute(result.code, passed))
    if isinstance(result, Method):
        return dataclasses.replace(result, owner=outside(result.owner, passed))
    if isinstance(result, Partial):
        return dataclasses.replace(result, function=outside(result.function, passed))
    if not isinstance(result, Items | Fields) or not method_names(result):
        return result
    parts = [outside(x, passed) if method_names(x) else x for x in _members(result)]
    if isinstance(result, Items):
        return dataclasses.replace(result, items=parts)
    return dataclasses.replace(result, fields=dict(zip(result.fields, parts, strict=True)))


def method_names(value: Value) -> set[str]:
    """Return the variables of the methods of modules in a value, which has no code for them."""
    if isinstance(value, Items | Fields):
        return set().union(*map(method_names, _members(value)))
    if isinstance(value, Method) and isinstance(value.owner, Module):
        return set(syntax.names_in(code_of(value.owner)))
    return method_names(value.function) if isinstance(value, Partial) else set()


def _members(value: Items | Fields) -> list[Value]:
    if isinstance(value, Items):
        return value.items
    return list(value.fields.values())
