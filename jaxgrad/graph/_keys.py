"""Match operations across settings, and find the edges between them."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._lanes import Assigned, ModulePath
from jaxgrad.graph._model import Graph


# An operation's key is (lane, path within the lane, kind, count); a box of several operations has
# (lane, path) or (lane, path, number). The same operation has the same key in every setting.
Key = tuple[Any, ...]


class Indexed(NamedTuple):
    """A graph with a key for each operation, and the edges between its operations."""

    assigned: Assigned
    keys: list[Key]
    edges: Mapping[Key, list[tuple[Any, bool, str]]]  # (target, gradient flows, name of stop)
    relayouts: frozenset[Key]  # operations that only change a parameter's layout or dtype

    @property
    def graph(self) -> Graph:
        return self.assigned.graph


def index_graphs(
    graphs: Sequence[Assigned], lane_of: Mapping[ModulePath, int], depth: int
) -> list[Indexed]:
    """Give every operation of every setting its key, and find the edges between them."""
    indexed = []
    for g in graphs:
        keys = _keys(g, lane_of, depth)
        edges: dict[Key, list[tuple[Any, bool, str]]] = {}
        for i, key in enumerate(keys):
            edges[key] = list(_edges(g, keys, depth, i))
        relayouts = frozenset(key for is_one, key in zip(g.relayouts, keys, strict=True) if is_one)
        indexed.append(Indexed(g, keys, edges, relayouts))
    return indexed


def _keys(g: Assigned, lane_of: Mapping[ModulePath, int], depth: int) -> list[Key]:
    count: collections.Counter[Any] = collections.Counter()
    keys = []
    for op, path in zip(g.graph.ops, g.paths, strict=True):
        count[path, op.kind] += 1
        keys.append((lane_of[path[:depth]], path[depth:], op.kind, count[path, op.kind]))
    return keys


def _edges(g: Assigned, keys: Sequence[Key], depth: int, i: int) -> Iterator[tuple[Any, bool, str]]:
    """Yield an operation's edges, without those between modules that share one lane."""
    for edge in g.graph.ops[i].edges:
        if isinstance(edge.to, str):
            if edge.to in g.leaves:
                yield edge.to, edge.flows, edge.cut
        else:
            j = edge.to
            same = g.paths[i][:depth] == g.paths[j][:depth]
            if same or keys[i][0] != keys[j][0]:
                yield keys[j], edge.flows, edge.cut
