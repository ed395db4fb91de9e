"""What an expression of the torch program is during a port: folded, a size, a tensor, a module.

Each value has the result of the run on the example inputs (`real`) and the port's expression for
it (`code`). A value without code is folded: it is configuration and is written as a constant.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch

from jaxgrad.parity.port.source import authors, formulas, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.kinds_of_values import (
    Fields,
    Folded,
    Items,
    Method,
    Object,
    Size,
    Tensor,
    TensorMethod,
    Value,
    fresh,
    is_dynamic,
)


def folded(
    real: Any, origin: str = "", formula: ast.expr | None = None, source: str = ""
) -> Folded:
    value = Folded(real)
    value.origin, value.formula, value.source = origin, formula, source
    return value


def computed(real: Any, build: Callable[..., ast.expr], *operands: Value) -> Folded:
    """Return a number that is computed from others, with its formula if it has many digits."""
    if not isinstance(real, int | float) or isinstance(real, bool):
        return Folded(real)
    try:
        codes = [_operand(x) for x in operands]
    except PortError:
        return Folded(real)
    value = folded(real)
    value.parts = formulas.short(build(*map(copy.deepcopy, codes)))
    value.formula = value.parts if formulas.is_long(real) else None
    return value


def has_list(value: Value) -> bool:
    """Return whether a value is a list, or a container of one, which the port can change."""
    if isinstance(value, Items):
        return value.real is list or any(map(has_list, value.items))
    return type(value) is Fields and any(map(has_list, value.fields.values()))


def _operand(value: Value) -> ast.expr:
    """Return the code of a number, or how it is computed if a number in that has a name."""
    code = code_of(value)
    parts = value.parts if isinstance(value, Folded) else None
    if parts is None or authors.of(code) is not None:
        return code
    return parts if any(on_expression(n).origin for n in ast.walk(parts)) else code


def is_computed(value: Value) -> bool:
    """Return whether a value differs from one call of the port to the next."""
    return is_dynamic(value) and not isinstance(value, Folded)


def real_of(value: Value) -> Any:
    """Return the value of the run, with containers as Python's own."""
    if isinstance(value, Items):
        items = [real_of(x) for x in value.items]
        return items if value.real is list else _build(value.real, items)
    if isinstance(value, Object):
        made = value.real.__new__(value.real)
        made.__dict__.update({key: real_of(x) for key, x in value.fields.items()})
        return made
    if isinstance(value, Fields):
        fields = {key: real_of(x) for key, x in value.fields.items()}
        if value.by_attribute:
            return value.real(list(fields.values()))
        return fields if value.real is dict else value.real(**fields)
    if isinstance(value, Method):
        return value.real.__get__(real_of(value.owner))
    if isinstance(value, TensorMethod):
        return getattr(value.owner.real, value.real)
    return value.real


def _build(kind: type, items: list[Any]) -> Any:
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def code_of(value: Value) -> ast.expr:
    """Return the port's expression of a value.

    Raises:
        PortError: The value is configuration that has no literal, or a container of a tensor that
            may not be read any more.
    """
    if isinstance(value, Items | Fields):
        for tensor in tensors_in(value):
            fresh(tensor)
    if value.code is not None:
        return copy.deepcopy(value.code)
    if isinstance(value, Items):
        items = [code_of(x) for x in value.items]
        return ast.List(items, ast.Load()) if value.real is list else ast.Tuple(items, ast.Load())
    if isinstance(value, Object):
        raise PortError(f"an object of type {value.real.__name__} cannot be written in the port")
    if isinstance(value, Fields):
        keys: list[ast.expr | None] = [syntax.literal(key) for key in value.fields]
        return ast.Dict(keys, [code_of(x) for x in value.fields.values()])
    formula = _formula(value) if isinstance(value, Folded) else None
    if formula is not None:
        return formula
    code = syntax.literal(value.real)
    if formulas.is_long(value.real):
        code = formulas.found(value.real) or code
    inner = code.operand if isinstance(code, ast.UnaryOp) else code
    has_origin = isinstance(inner, ast.Constant) or on_expression(inner).number
    if isinstance(value, Folded) and value.origin and has_origin:
        on_expression(inner).origin = value.origin
    if isinstance(value, Folded) and value.variable:
        on_expression(code).variable = value.variable
    elif isinstance(value, Folded) and value.source and is_number(value.real):
        number = copy.deepcopy(code)
        authors.mark(code, authors.Author(value.source, value.origin, value.local, number))
    return code


def _formula(value: Folded) -> ast.expr | None:
    """Return how a number is computed, if a number in it has a name or it has many digits."""
    parts = value.parts
    if parts is None or value.variable or not authors.has_name(parts):
        return copy.deepcopy(value.formula)
    number = syntax.literal(value.real)
    if value.formula is not None:
        number = authors.written(copy.deepcopy(parts), lambda _: None)
    code = copy.deepcopy(parts)
    on_expression(code).origin = value.local or value.origin
    return authors.mark(code, authors.Author(authors.FORMULA, "", value.local, number))


def is_number(real: Any) -> bool:
    """Return whether a value of the run is a number, which a bool is not."""
    return isinstance(real, int | float) and not isinstance(real, bool)


def lift(real: Any, code: ast.expr) -> Value:
    """Return the value of an expression of the port whose result in the run is known."""
    if isinstance(real, torch.Tensor):
        return Tensor(real, code)
    if isinstance(real, torch.Size):
        sizes: list[Value] = [Size(int(x), syntax.item(code, n)) for n, x in enumerate(real)]
        return Items(tuple, code, sizes)
    if isinstance(real, tuple) and type(real).__module__ == "torch.return_types":
        kind = type(real)
        names = [f for f in dir(kind) if isinstance(getattr(kind, f), _MEMBER) and f[0] != "_"]
        order = sorted(
            names, key=lambda f: next(n for n, x in enumerate(real) if x is getattr(real, f))
        )
        fields = {f: lift(getattr(real, f), syntax.attribute(code, f)) for f in order}
        return Fields(kind, code, fields, by_attribute=True)
    if isinstance(real, list | tuple):
        items = [lift(x, syntax.item(code, n)) for n, x in enumerate(real)]
        kind = list if isinstance(real, list) else tuple
        counted = on_expression(code).counted
        return Items(kind, code if any(map(is_dynamic, items)) else None, items, counted)
    if isinstance(real, Mapping):
        fields = {k: lift(x, syntax.item(code, k)) for k, x in real.items()}
        return Fields(dict, code, fields)
    return Folded(real)


_MEMBER = type(torch.return_types.max.values)  # the descriptor of a named result


def tensors_in(value: Value) -> list[Tensor]:
    """Return every tensor in a value."""
    if isinstance(value, Items):
        return [x for item in value.items for x in tensors_in(item)]
    if isinstance(value, Fields):
        return [x for item in value.fields.values() for x in tensors_in(item)]
    return [value] if isinstance(value, Tensor) else []
