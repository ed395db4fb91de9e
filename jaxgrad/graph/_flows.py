"""Find the lanes between which values flow forward: the arrows between the headers of a picture."""

from __future__ import annotations

from collections.abc import Iterable

from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._states import View


Flow = tuple[int, int]  # a lane and a later one that uses its values


def flows(diagram: Diagram, view: View) -> list[Flow]:
    """Return the lanes that use each other's values in one setting, without shortcuts.

    A pair is left out if the values also pass through a lane between the two: a chain of modules
    has one arrow from each to the next, and modules that do not use each other have none.
    """
    read = {(name, key) for key, names in view.leaves.items() for name in names if _has(view, name)}
    known = {key for _, key in read} | view.states.keys()
    found: set[Flow] = set()
    for source, target in diagram.edges:
        if not view.graph.ops or (source in known and target in known):
            lane = diagram.boxes[source].lane
            before = (diagram.boxes.get(target) or diagram.badges[target]).lane
            found |= {(before, lane)} if before < lane else set()
    after: dict[int, set[int]] = {}  # all lanes that depend on a lane
    for lane in sorted({before for before, _ in found}, reverse=True):
        nexts = {b for a, b in found if a == lane}
        after[lane] = nexts.union(*(after.get(b, ()) for b in nexts))
    return sorted(
        (a, b)
        for a, b in found
        if not any(b in after.get(c, ()) for other, c in found if other == a and c != b)
    )


def _has(view: View, name: str) -> bool:
    """Return whether a setting's program uses a parameter."""
    return any(edge.to == name for op in view.graph.ops for edge in op.edges)


def arcs(pairs: Iterable[Flow]) -> dict[Flow, int]:
    """Return the height of each arrow that passes over a header, so that no two overlap."""
    heights: dict[Flow, int] = {}
    for a, b in sorted(pairs, key=lambda pair: (pair[1] - pair[0], pair)):
        if b > a + 1:
            used = {height for (c, d), height in heights.items() if c < b and a < d}
            heights[a, b] = next(i for i in range(len(used) + 1) if i not in used)
    return heights
