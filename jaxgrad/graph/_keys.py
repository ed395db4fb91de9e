"""Match operations across settings, and find the edges between drawn operations."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._lanes import Assigned, ModulePath
from jaxgrad.graph._model import Graph, Op


# An operation's key is (lane, path within the lane, kind, count); a box of several operations has
# (lane, path). The same operation has the same key in every setting.
Key = tuple[Any, ...]


class Indexed(NamedTuple):
    """A graph with a key for each operation, and the edges between its drawn operations."""

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
    """Give every operation of every setting its key, and find the edges between drawn ones."""
    all_keys = [_keys(g, lane_of, depth) for g in graphs]
    drawn = {
        key
        for g, keys in zip(graphs, all_keys, strict=True)
        for op, key in zip(g.graph.ops, keys, strict=True)
        if op.drawn or _joins(g, op)
    }
    indexed = []
    for g, keys in zip(graphs, all_keys, strict=True):
        search = _EdgeSearch(g, keys, drawn, depth)
        edges = {key: list(search.edges(i)) for i, key in enumerate(keys) if key in drawn}
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


def _joins(g: Assigned, op: Op) -> bool:
    """Return whether several edges meet at an operation that is not drawn: an addition."""
    edges = [edge for edge in op.edges if isinstance(edge.to, int) and not g.relayouts[edge.to]]
    return len(edges) > 1


class _EdgeSearch(NamedTuple):
    """The edges of a graph from one drawn operation to the next."""

    assigned: Assigned
    keys: list[Key]
    drawn: set[Key]
    depth: int

    def edges(self, i: int) -> Iterator[tuple[Any, bool, str]]:
        for edge in self.assigned.graph.ops[i].edges:
            if isinstance(edge.to, str):
                if edge.to in self.assigned.leaves:
                    yield edge.to, edge.flows, edge.cut
            elif self.keys[edge.to] not in self.drawn:
                for target, flows, cut in self.edges(edge.to):
                    yield target, edge.flows and flows, edge.cut or cut
            elif not self.between_members(i, edge.to):
                yield self.keys[edge.to], edge.flows, edge.cut

    def between_members(self, i: int, j: int) -> bool:
        """Return whether two operations are in different modules that share one lane."""
        a, b = (self.assigned.paths[k][: self.depth] for k in (i, j))
        return a != b and self.keys[i][0] == self.keys[j][0]
