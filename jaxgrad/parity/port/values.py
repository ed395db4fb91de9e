"""What an expression of the torch program is during a port: folded, a size, a tensor, a module.

Each value has the result of the run on the example inputs (`real`) and the port's expression for
it (`code`). A value without code is folded: it is configuration and is written as a constant.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import torch

from jaxgrad.parity.port import formulas, syntax
from jaxgrad.parity.port.refusals import PortError


@dataclasses.dataclass(eq=False)
class Value:
    """A value of the run, and the expression that computes it in the port."""

    real: Any
    code: ast.expr | None = None


class Folded(Value):
    """Configuration: a number, a string, a function. It may have the code that names it."""

    origin: str = ""  # the attribute that it was read from, which names a keyword of the port
    variable: str = ""  # the variable that has it before a loop
    formula: ast.expr | None = None  # how a number of many digits is computed
    parts: ast.expr | None = None  # how any number is computed, for the formula of another one


class Size(Value):
    """A number that is computed from shapes; the port computes it from its own arrays."""


@dataclasses.dataclass(eq=False)
class Tensor(Value):
    """A tensor of the run."""

    stale: str = ""  # why this value may not be read any more
    view: ast.expr | None = None  # the part of another variable that shares its memory


class Module(Value):
    """A torch module; its code is the expression of its params."""

    path: str = ""


@dataclasses.dataclass(eq=False)
class Items(Value):
    """A list or tuple; `real` is its type."""

    items: list[Value] = dataclasses.field(default_factory=list)
    counted: bool = False  # whether its length depends on a size, so that it has code

    def at(self, index: int) -> Value:
        value = self.items[index]
        if self.code is None or _shows_parts(self.code):
            return value
        return part(value, syntax.item(self.code, index))


@dataclasses.dataclass(eq=False)
class Fields(Value):
    """A dict or a record with named values; `real` is its type."""

    fields: dict[Any, Value] = dataclasses.field(default_factory=dict)
    by_attribute: bool = False  # whether the port's expression has attributes, not keys

    def at(self, key: Any) -> Value:
        value = self.fields[key]
        if self.code is None:
            return value
        reach = syntax.attribute if self.by_attribute else syntax.item
        return part(value, reach(self.code, key))


@dataclasses.dataclass(eq=False)
class Object(Fields):
    """An object of a Python class (`real`) that is made of tensors; the port has its attributes."""

    passed: bool = False  # whether it is an argument of the function that is being interpreted


@dataclasses.dataclass(eq=False)
class Method(Value):
    """A Python function (`real`) bound to the value that it was read from."""

    owner: Value = dataclasses.field(default_factory=lambda: Folded(None))
    kind: type | None = None  # the class that defines it, if it was reached by `super()`


@dataclasses.dataclass(eq=False)
class Parent(Value):
    """`super()` of a module: `real` is the class after which methods are looked up."""

    owner: Value = dataclasses.field(default_factory=lambda: Folded(None))


@dataclasses.dataclass(eq=False)
class TensorMethod(Value):
    """A method of a tensor by its name (`real`)."""

    owner: Value = dataclasses.field(default_factory=lambda: Folded(None))


@dataclasses.dataclass(eq=False)
class Closure(Value):
    """A function that is defined inside of a function; `real` is its syntax tree."""

    scope: Any = None  # where it can be called
    source: Any = None  # of the function that defines it
    captured: dict[str, Value] = dataclasses.field(default_factory=dict)  # in another scope


@dataclasses.dataclass(eq=False)
class Mapped(Closure):
    """A function under `torch.vmap`."""

    function: Value = dataclasses.field(default_factory=lambda: Folded(None))
    in_dims: Any = 0
    out_dims: Any = 0


@dataclasses.dataclass(eq=False)
class Differentiated(Closure):
    """A function under `torch.func.grad` or another transformation of `torch.func`."""

    function: Value = dataclasses.field(default_factory=lambda: Folded(None))
    transform: Any = None  # torch's
    argnums: Any = 0


def _shows_parts(code: ast.expr) -> bool:
    """Return whether each part of a container has an expression of its own: `x.shape[:2]`."""
    is_slice = isinstance(code, ast.Subscript) and isinstance(code.slice, ast.Slice)
    return isinstance(code, ast.Tuple) or is_slice


def folded(real: Any, origin: str = "", formula: ast.expr | None = None) -> Folded:
    value = Folded(real)
    value.origin, value.formula = origin, formula
    return value


def computed(real: Any, build: Callable[..., ast.expr], *operands: Value) -> Folded:
    """Return a number that is computed from others, with its formula if it has many digits."""
    if not isinstance(real, int | float) or isinstance(real, bool):
        return Folded(real)
    try:
        codes = [_named_parts(x) or code_of(x) for x in operands]
    except PortError:
        return Folded(real)
    value = folded(real)
    value.parts = formulas.short(build(*map(copy.deepcopy, codes)))
    value.formula = value.parts if formulas.is_long(real) else None
    return value


def renamed(value: Value, code: ast.expr) -> Value:
    """Return a value under another expression; what is folded stays folded."""
    if not is_dynamic(value) or isinstance(value, Method | TensorMethod | Closure):
        return value
    new = copy.copy(value)
    new.code = code
    return new


def part(value: Value, code: ast.expr) -> Value:
    """Return an element of a container under its expression; a list there can be changed."""
    if isinstance(value, Items) and value.real is list and value.code is None:
        value.code = code
        return value
    return renamed(value, code)


def has_list(value: Value) -> bool:
    """Return whether a value is a list, or a container of one, which the port can change."""
    if isinstance(value, Items):
        return value.real is list or any(map(has_list, value.items))
    return type(value) is Fields and any(map(has_list, value.fields.values()))


def _named_parts(value: Value) -> ast.expr | None:
    """Return how a number is computed, if a number in it has the author's name."""
    parts = value.parts if isinstance(value, Folded) else None
    has_name = parts is not None and any("origin" in n.__dict__ for n in ast.walk(parts))
    return parts if has_name else None


def is_dynamic(value: Value) -> bool:
    """Return whether the port has code for a value: a tensor, a size or a module is in it."""
    if isinstance(value, Items):
        return value.code is not None or any(is_dynamic(x) for x in value.items)
    if isinstance(value, Fields):
        return value.code is not None or any(is_dynamic(x) for x in value.fields.values())
    if isinstance(value, Method | TensorMethod):
        return is_dynamic(value.owner)
    if isinstance(value, Folded):
        return value.code is not None  # `x.dtype`
    return isinstance(value, Tensor | Size | Module | Closure)


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
        PortError: The value is configuration that has no literal.
    """
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
    if isinstance(value, Folded) and value.formula is not None:
        return copy.deepcopy(value.formula)
    code = syntax.literal(value.real)
    if formulas.is_long(value.real):
        code = formulas.found(value.real) or code
    inner = code.operand if isinstance(code, ast.UnaryOp) else code
    is_number = isinstance(inner, ast.Constant) or "number" in inner.__dict__
    if isinstance(value, Folded) and value.origin and is_number:
        inner.__dict__["origin"] = value.origin
    if isinstance(value, Folded) and value.variable:
        code.__dict__["variable"] = value.variable
    return code


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
        counted = code.__dict__.get("counted", False)
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
