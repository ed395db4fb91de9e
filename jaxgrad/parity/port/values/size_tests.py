"""The tests on sizes by which a torch program branches, and what both of their arms may give."""

from __future__ import annotations

import dataclasses

from jaxgrad.parity.port.source.refusals import Place
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor, Value


@dataclasses.dataclass
class SizeTests:
    """The tests of one run.

    Attributes:
        answers: What each test gave, by its place in the torch source.
        both: The tests of which both arms are written.
    """

    answers: dict[Place, set[bool]] = dataclasses.field(default_factory=dict)
    both: frozenset[Place] = frozenset()

    def note(self, place: Place, answer: bool) -> bool:
        """Note what a test gives; return whether both of its arms are written."""
        self.answers.setdefault(place, set()).add(answer)
        return place in self.both


def are_one_number(left: Value, right: Value | None) -> bool:
    """Return whether two values are the same configuration: one object, or equal numbers."""
    if not isinstance(left, Folded) or not isinstance(right, Folded):
        return False
    same = type(left.real) is type(right.real) and _is_number(left) and left.real == right.real
    return same or left.real is right.real


def are_alike(left: Value, right: Value) -> bool:
    """Return whether two values are arrays of one dtype and number of dimensions, or numbers."""
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return (left.real.dtype, left.real.ndim) == (right.real.dtype, right.real.ndim)
    return _is_number(left) and _is_number(right)


def _is_number(value: Value) -> bool:
    return isinstance(value, Size | Folded) and type(value.real) in (int, float, bool)
