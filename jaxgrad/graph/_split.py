"""Split a full lane by the settings that compute its operations.

A lane in a single box hides where a gradient is stopped: the operations before the stop and those
behind it share the box. Here the operations with the same states in all settings share one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jaxgrad.graph._keys import Indexed, Key
from jaxgrad.graph._model import ABSENT, SUM


def by_states(lane: int, keys: Sequence[Key], indexed: Sequence[Indexed]) -> dict[Key, Key]:
    """Assign a lane's operations to a box for each combination of their states.

    A sum of a parameter's gradients gets no box: what it adds leads to the parameter.
    """
    sums = _sums_of_leaves(indexed)
    states = [
        {key: op.state for op, key in zip(each.graph.ops, each.keys, strict=True)}
        for each in indexed
    ]
    groups: dict[tuple[str, ...], list[Key]] = {}
    for key in keys:
        if key not in sums:
            groups.setdefault(tuple(of.get(key, ABSENT) for of in states), []).append(key)
    return {
        key: key if len(group) == 1 else (lane, (), number)
        for number, group in enumerate(groups.values())
        for key in group
    }


def without(indexed: Sequence[Indexed], boxed: Collection[Key]) -> list[Indexed]:
    """Replace each edge to an operation without a box by that operation's own edges."""

    def led_on(each: Indexed, edge: tuple[Any, bool, str]) -> list[tuple[Any, bool, str]]:
        target, flows, cut = edge
        if isinstance(target, str) or target in boxed or target not in each.edges:
            return [edge]
        return [
            (end, flows and further, cut or other)
            for following in each.edges[target]
            for end, further, other in led_on(each, following)
        ]

    return [each._replace(edges=_boxed_edges(each, boxed, led_on)) for each in indexed]


def _boxed_edges(each: Indexed, boxed: Collection[Key], led_on: Any) -> Mapping[Key, Any]:
    return {
        key: [end for edge in edges for end in led_on(each, edge)]
        for key, edges in each.edges.items()
        if key in boxed
    }


def _sums_of_leaves(indexed: Sequence[Indexed]) -> set[Key]:
    """Return the sums of cotangents that lead to parameters alone."""
    sums: set[Key] = set()
    for each in indexed:
        for op, key in zip(each.graph.ops, each.keys, strict=True):  # a target comes first
            ends = [target for target, *_ in each.edges[key]]
            if op.name == SUM and ends and all(isinstance(e, str) or e in sums for e in ends):
                sums.add(key)
    return sums
