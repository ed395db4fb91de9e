"""The types of values of a torch program: folded, or with an expression that computes it."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.ir import NameOf, Number
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.numbers import is_number
from jaxgrad.parity.port.source.refusals import PortError


@dataclasses.dataclass(eq=False)
class Value:
    """A value of the run, and the expression that computes it in the port."""

    real: Any
    code: ast.expr | None = None
    # In an element of a comprehension, the code in which the loop's variable has its name.
    symbolic: ast.expr | None = dataclasses.field(default=None, init=False)

    def bind(self, code: ast.expr) -> None:
        """Set the expression of the port that holds this value; variables that share it follow."""
        self.code = code


@dataclasses.dataclass(eq=False)
class Folded(Value):
    """Configuration: a number, a string, a function. It may have the code that names it."""

    number: Number | None = None  # a number, flag or string with the author's names for it
    formula: ast.expr | None = None  # how a number is computed, or the code of a slice

    def named(self, name: str, name_of: NameOf | None = None, local: str = "") -> Folded:
        """Return the value with names; only a number is written as the author names it."""
        if not isinstance(self.real, int | float | str):
            return self
        new = copy.copy(self)
        new.number = Number(self.real, name, name_of if is_number(self.real) else None, local)
        return new


@dataclasses.dataclass(eq=False)
class Size(Value):
    """A number that is computed from shapes; the port computes it from its own arrays."""

    of_ranks: bool = False  # whether it depends on numbers of dimensions alone


def size(real: Any, code: ast.expr, *parts: Value) -> Size:
    """Return a number that is computed from others."""
    fixed = (x.of_ranks if isinstance(x, Size) else isinstance(x, Folded) for x in parts)
    return Size(real, code, all(fixed))


@dataclasses.dataclass(eq=False)
class Tensor(Value):
    """A tensor of the run."""

    stale: str = ""  # why this value may not be read any more
    view: ast.expr | None = None  # the part of another variable that shares its memory

    def outdate(self, why: str) -> None:
        """Forbid further reads, because the memory of the tensor has changed in place."""
        self.stale = why


def fresh(value: Value) -> Value:
    """Return a value that may be read.

    Raises:
        PortError: It is a tensor whose memory has changed in place.
    """
    if isinstance(value, Tensor) and value.stale:
        raise PortError(value.stale)
    return value


@dataclasses.dataclass(eq=False)
class Module(Value):
    """A torch module; its code is the expression of its params."""

    path: str = ""


@dataclasses.dataclass(eq=False)
class Items(Value):
    """A list or tuple; `real` is its type."""

    items: list[Value] = dataclasses.field(default_factory=list)
    counted: bool = False  # whether its length depends on a size, so that it has code

    def at(self, index: int) -> Value:
        return fresh(self.reached(index))

    def reached(self, index: int) -> Value:
        """Return an element, even if it may not be read any more."""
        value = self.items[index]
        if self.code is None or _shows_parts(self.code):
            return value
        return part(value, syntax.item(self.code, index))

    def hold(self, items: Sequence[Value]) -> None:
        """Keep elements of its own, which no expression of the port holds together any more."""
        self.items, self.code, self.counted = list(items), None, False

    def extend(self, items: Sequence[Value], *, counted: bool = False) -> None:
        """Add elements; `counted` if their number depends on a size."""
        self.items.extend(items)
        self.counted = self.counted or counted


@dataclasses.dataclass(eq=False)
class Chain(Items):
    """An `nn.Sequential` that the program makes of modules, which are called in turn."""


@dataclasses.dataclass(eq=False)
class Fields(Value):
    """A dict or a record with named values; `real` is its type."""

    fields: dict[Any, Value] = dataclasses.field(default_factory=dict)
    by_attribute: bool = False  # whether the port's expression has attributes, not keys

    def at(self, key: Any) -> Value:
        return fresh(self.reached(key))

    def reached(self, key: Any) -> Value:
        """Return a field, even if it may not be read any more."""
        value = self.fields[key]
        if self.code is None:
            return value
        reach = syntax.attribute if self.by_attribute else syntax.item
        return part(value, reach(self.code, key))

    def hold(self, fields: Mapping[Any, Value]) -> None:
        """Keep fields of its own, which no expression of the port holds together any more."""
        self.fields, self.code = dict(fields), None


@dataclasses.dataclass(eq=False)
class Object(Fields):
    """An object of a Python class (`real`) that is made of tensors; the port has its attributes."""

    passed: bool = False  # whether it is an argument of the function that is being interpreted


@dataclasses.dataclass(eq=False)
class Packed(Value):
    """A packed sequence of torch. The port has the padded sequence (`code`) and its lengths."""

    lengths: Value = dataclasses.field(default_factory=lambda: Folded(None))
    batch_first: bool = False  # of the padded sequence
    steps: int = 0  # of the padded sequence
    scope: Any = None  # where the lengths have their name


@dataclasses.dataclass(eq=False)
class Span(Value):
    """A slice of a fixed length that begins at a tensor; `real` is a slice of Python's."""

    start: Value = dataclasses.field(default_factory=lambda: Folded(0))
    length: Value = dataclasses.field(default_factory=lambda: Folded(0))
    end: str = ""  # as the torch program writes it


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
class Partial(Closure):
    """A function with its first arguments, as `functools.partial` gives it."""

    function: Value = dataclasses.field(default_factory=lambda: Folded(None))
    args: list[Value] = dataclasses.field(default_factory=list)
    keywords: dict[str, Value] = dataclasses.field(default_factory=dict)


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
        value.bind(code)
        return value
    return renamed(value, code)


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
    return isinstance(value, Tensor | Size | Module | Closure | Packed | Span)
