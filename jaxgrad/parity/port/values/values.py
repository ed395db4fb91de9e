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

from jaxgrad.parity.port.ir import NameOf, Number
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.value_types import (
    Fields,
    Folded,
    Items,
    Method,
    Object,
    Size,
    Span,
    Tensor,
    TensorMethod,
    Value,
    fresh,
    is_dynamic,
)


def folded(
    real: Any, name: str = "", name_of: NameOf | None = None, formula: ast.expr | None = None
) -> Folded:
    """Return configuration with the name that it has in the torch program."""
    value = Folded(real, formula=formula)
    return value.named(name, name_of) if name else value


def computed(real: Any, build: Callable[..., ast.expr], *operands: Value) -> Folded:
    """Return a number that is computed from others, with its formula."""
    if not numbers.is_number(real):
        return Folded(real)
    try:
        codes = [_operand(x) for x in operands]
    except PortError:
        return Folded(real)
    formula = numbers.short(build(*map(copy.deepcopy, codes)))
    return Folded(real, None, Number(real, name_of=NameOf.FORMULA), formula)


def has_list(value: Value) -> bool:
    """Return whether a value is a list, or a container of one, which the port can change."""
    if isinstance(value, Items):
        return value.real is list or any(map(has_list, value.items))
    return type(value) is Fields and any(map(has_list, value.fields.values()))


def _operand(value: Value) -> ast.expr:
    """Return the code of a number, or how it is computed if a number in that has a name."""
    code = code_of(value)
    formula = value.formula if isinstance(value, Folded) else None
    if formula is None or numbers.named(code) is not None:
        return code
    return formula if numbers.has_name(formula) else code


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
        raise PortError(
            f"an object of type {value.real.__name__} cannot be written in the port"
            "; use its tensors"
        )
    if isinstance(value, Fields):
        keys: list[ast.expr | None] = [syntax.literal(key) for key in value.fields]
        return ast.Dict(keys, [code_of(x) for x in value.fields.values()])
    if isinstance(value, Span):
        raise PortError("a slice that begins at a tensor; slice a tensor with it")
    return _code_of_folded(value) if isinstance(value, Folded) else syntax.literal(value.real)


def _code_of_folded(value: Folded) -> ast.expr:
    """Return configuration as a literal, or as a formula if a number in it has a name."""
    number, formula = value.number, named_formula(value)
    if formula is not None:
        return numbers.annotated(copy.deepcopy(formula), number)
    is_plain = numbers.is_number(value.real) and not numbers.is_long(value.real)
    if value.formula is not None and not is_plain:
        return copy.deepcopy(value.formula)
    if number is None:
        is_long = numbers.is_long(value.real)
        return numbers.numeral(Number(value.real)) if is_long else syntax.literal(value.real)
    is_formula = number.name_of is NameOf.FORMULA
    return numbers.numeral(number.without_author() if is_formula else number)


def named_formula(value: Folded) -> ast.expr | None:
    """Return how a number is computed from others, if the author has named one of them."""
    if value.number is None or value.number.name_of is not NameOf.FORMULA:
        return None
    named = value.formula is not None and numbers.has_author_name(value.formula)
    return value.formula if named else None


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
