"""Compare a setting with the one that it should equal: which gradients flow in only one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._keys import Key
from jaxgrad.graph._model import REACHED, SUM
from jaxgrad.graph._states import BoxEdge, View


WRONG, MISSING = "wrong path", "missing path"
_Ends = dict[BoxEdge, set[BoxEdge]]


def differing(diagram: Diagram, view: View, expected: View) -> dict[BoxEdge, str]:
    """Return the edges along which a gradient flows in one setting only: a wrong or a missing path.

    A sum of cotangents is not an operation of the program: an edge through it is compared by the
    operations at its two ends.
    """
    sums = {key for key, box in diagram.boxes.items() if set(box.members) == {SUM}}
    here, there = (
        _ends([edge for edge, state in each.flows.items() if state == REACHED], sums)
        for each in (view, expected)
    )
    return _alone(here, there, WRONG) | _alone(there, here, MISSING)


def _alone(mine: _Ends, others: _Ends, word: str) -> dict[BoxEdge, str]:
    known = set[BoxEdge]().union(*others.values())
    return {edge: word for edge, ends in mine.items() if edge not in others and not ends & known}


def _ends(edges: Iterable[BoxEdge], sums: Collection[Key]) -> _Ends:
    """Map each edge to the pairs of operations that it connects, alone or through sums."""
    edges = list(edges)

    def ends(key: Key, near: int) -> set[Key]:
        """Return the operations on one side of an edge: its sources (0) or its targets (1)."""
        further = [edge[near] for edge in edges if edge[1 - near] == key] if key in sums else []
        return set[Key]().union(*(ends(other, near) for other in further)) or {key}

    return {edge: {(a, b) for a in ends(edge[0], 0) for b in ends(edge[1], 1)} for edge in edges}
