"""Choose the column and row of each box within its lane.

Column 0 is the rightmost. Row 0 holds the boxes that pass a gradient on to an earlier lane or to
several parameters. Below it, the boxes that lead to a single parameter form one row each.
"""

from __future__ import annotations

import collections
from typing import Any

from jaxgrad.graph._fold import Diagram


def grid(diagram: Diagram) -> tuple[dict[Any, int], dict[Any, int]]:
    """Return the column and the row of each box."""
    columns = _columns(diagram)
    chain_of = _chains(diagram)
    taken: set[tuple[int, int, int]] = set()
    rows: dict[Any, int] = {}

    def put(key: Any, row: int) -> None:
        lane = diagram.boxes[key].lane
        while (lane, columns[key], row) in taken:
            row += 1
        taken.add((lane, columns[key], row))
        rows[key] = row

    for key in diagram.boxes:
        if key not in chain_of:
            put(key, 0)
    for lane in range(len(diagram.lanes)):
        chains = collections.defaultdict[Any, list[Any]](list)
        for key, badge in chain_of.items():
            if diagram.boxes[key].lane == lane:
                chains[badge].append(key)
        row = int(any(diagram.boxes[key].lane == lane for key in rows))
        ordered = sorted(chains.values(), key=lambda chain: -max(columns[k] for k in chain))
        _stagger(ordered, columns)
        for chain in ordered:
            spots = range(min(columns[k] for k in chain), max(columns[k] for k in chain) + 1)
            while any((lane, column, row) in taken for column in spots):
                row += 1
            for key in chain:
                put(key, row)
            row += 1
    return columns, rows


def _stagger(chains: list[list[Any]], columns: dict[Any, int]) -> None:
    """Let each chain end left of those below it, so that its gradient drops beside them."""
    below = -1
    for chain in reversed(chains):
        last = max(chain, key=lambda key: columns[key])
        columns[last] = max(columns[last], below + 1)
        below = columns[last]


def _columns(diagram: Diagram) -> dict[Any, int]:
    """Return each box's column: the length of the longest path to it; column 0 is rightmost."""
    above = collections.defaultdict(list)
    for source, target in diagram.edges:
        if target in diagram.boxes and diagram.boxes[source].lane == diagram.boxes[target].lane:
            above[target].append(source)
    columns: dict[Any, int] = {}

    def column(key: Any) -> int:
        if key not in columns:
            columns[key] = 0  # ends the recursion in a cycle
            columns[key] = max((column(k) + 1 for k in above[key]), default=0)
        return columns[key]

    for key in diagram.boxes:
        column(key)
    return columns


def _chains(diagram: Diagram) -> dict[Any, Any]:
    """Map each box that leads to a single parameter's badge, and nowhere else, to that badge."""
    targets = collections.defaultdict[Any, list[Any]](list)
    for source, target in diagram.edges:
        targets[source].append(target)
    ends: dict[Any, frozenset[Any]] = {key: frozenset({key}) for key in diagram.badges}

    def ends_of(key: Any) -> frozenset[Any]:
        if key not in ends:
            ends[key] = frozenset()  # ends the recursion in a cycle
            lane = diagram.boxes[key].lane
            far = [t for t in targets[key] if t in diagram.boxes and diagram.boxes[t].lane != lane]
            near = [ends_of(t) for t in targets[key] if t not in far]
            ends[key] = frozenset(far).union(*near)
        return ends[key]

    only = {key: next(iter(ends_of(key))) for key in diagram.boxes if len(ends_of(key)) == 1}
    return {key: end for key, end in only.items() if end in diagram.badges}
