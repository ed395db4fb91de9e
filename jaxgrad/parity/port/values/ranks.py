"""Numbers of dimensions are fixed by those of the inputs, which the entry asserts."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.value_types import Fields, Items, Size, Tensor, Value


@dataclasses.dataclass
class Ranks:
    """What a run knows about the numbers of dimensions of its tensors."""

    varies: bool = False  # whether one may depend on a size, as after `x.squeeze()`
    read: bool = False  # whether the port needs those of the inputs

    def note_varying(self) -> None:
        """Note that a number of dimensions depends on a size."""
        self.varies = True

    def fixes(self, value: Value) -> bool:
        """Return whether a number or test has one value for all inputs of these dimensions."""
        if not (isinstance(value, Size) and value.of_ranks) or self.varies:
            return False
        self.read = True
        return True


def tests(names: Sequence[str], values: Sequence[Value]) -> list[ast.Compare]:
    """Return the tests `x.ndim == 3` of each array among the arguments of the entry."""
    arrays = (
        found
        for name, value in zip(names, values, strict=False)
        for found in _arrays(syntax.name(name), value)
    )
    return [
        ast.Compare(syntax.ndim(code), [ast.Eq()], [syntax.constant(ndim)]) for code, ndim in arrays
    ]


def _arrays(code: ast.expr, value: Value) -> Iterator[tuple[ast.expr, int]]:
    """Yield each array in a value: its expression and its number of dimensions."""
    if isinstance(value, Tensor):
        yield code, value.real.ndim
    elif isinstance(value, Items):
        for n, part in enumerate(value.items):
            yield from _arrays(syntax.item(code, n), part)
    elif isinstance(value, Fields):
        for key, part in value.fields.items():
            yield from _arrays(syntax.item(code, key), part)
