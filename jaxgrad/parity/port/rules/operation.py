"""One call of an operator of torch, as the rules see it."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.lengths import pinned
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


@dataclasses.dataclass
class Operation:
    """A call: its arguments as values, and its result in the run."""

    name: str
    args: list[Value]
    keywords: dict[str, Value]
    scope: Scope
    node: ast.AST
    function: Any = None  # torch's
    real: Any = None

    def before(self) -> None:
        """Note what a call in place would destroy."""
        first = self.args[0] if self.args else None
        self.shape = first.real.shape if isinstance(first, Tensor) else None
        self.dtype = first.real.dtype if isinstance(first, Tensor) else None

    def get(self, position: int, name: str, default: Any = None) -> Any:
        """Return an argument of the run; the port asserts it if it depends on a size."""
        value = self.value(position, name)
        return default if value is None else pinned(value, self.scope, self.node)

    def has(self, position: int, name: str) -> bool:
        """Return whether an argument is given, and is not None."""
        value = self.value(position, name)
        return value is not None and (not isinstance(value, Folded) or value.real is not None)

    def value(self, position: int, name: str) -> Value | None:
        if position < len(self.args):
            return self.args[position]
        return self.keywords.get(name)

    def code(self, position: int, name: str, default: Any = None) -> ast.expr:
        """Return the code of an argument by its place or its name."""
        value = self.value(position, name)
        return syntax.literal(default) if value is None else code_of(value)

    @property
    def input(self) -> ast.expr:
        return self.code(0, "input")

    def tail(self, position: int, name: str) -> Value:
        """Return `f(x, (1, 2))` and `f(x, 1, 2)` as one tuple."""
        if len(self.args) == position:
            value = self.keywords[name]
        elif len(self.args) == position + 1:
            value = self.args[position]
        else:
            return Items(tuple, None, self.args[position:])
        real = real_of(value)
        return value if isinstance(real, list | tuple) else Items(tuple, None, [value])

    def parts(self, position: int, name: str) -> list[ast.expr]:
        """Return the code of each number of a `tail`."""
        value = self.tail(position, name)
        if isinstance(value, Items):
            if isinstance(value.code, ast.Tuple):
                return copy.deepcopy(value.code.elts)
            if value.code is not None:
                return [ast.Starred(code_of(value), ast.Load())]
            return [code_of(x) for x in value.items]
        return [syntax.literal(x) for x in value.real]

    def once(self) -> ast.expr:
        """Return the first argument's code for a rule that writes it twice."""
        return self.scope.once(self.input, _label(self.node))

    def axis(self, dim: int, extra: int = 0) -> int:
        """Return a dimension counted from the front."""
        assert self.shape is not None
        return dim % (len(self.shape) + extra)

    def refuse(self, reason: str) -> PortError:
        return self.scope.refuse(reason, self.node)


def _label(node: ast.AST) -> str:
    """Return a name for the value that a method is called on: `qkv` for `self.qkv(x).split(4)`."""
    base = (
        node.func.value
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        else None
    )
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute | ast.Name):
        label = base.func.attr if isinstance(base.func, ast.Attribute) else base.func.id
        label = label.strip("_")
        return label if label and not hasattr(builtins, label) else "x"
    return "x"
