"""Which operation of one setting is which of another, and the ways between those that are drawn."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._lanes import Home, Placed
from jaxgrad.graph._model import Graph, Op


# Of an operation: lane, path within it, kind, the how-manieth; of a box that holds several: lane
# and path. The same operation has the same key in every setting.
Key = tuple[Any, ...]


class Keyed(NamedTuple):
    """A graph, the key of each operation, and from each that is drawn the ways to the next."""

    placed: Placed
    keys: list[Key]
    ways: Mapping[Key, list[tuple[Any, bool, str]]]  # (a key or a leaf's name, flows, cut)
    forms: frozenset[Key]

    @property
    def graph(self) -> Graph:
        return self.placed.graph


def keyed(graphs: Sequence[Placed], lane_of: Mapping[Home, int], depth: int) -> list[Keyed]:
    """Give every operation of every setting its key, and find the ways between those drawn."""
    every = [_keys(g, lane_of, depth) for g in graphs]
    drawn = {
        key
        for g, keys in zip(graphs, every, strict=True)
        for op, key in zip(g.graph.ops, keys, strict=True)
        if op.drawn or _joins(g, op)
    }
    made = []
    for g, keys in zip(graphs, every, strict=True):
        follow = _Following(g, keys, drawn, depth)
        ways = {key: list(follow.ways(i)) for i, key in enumerate(keys) if key in drawn}
        forms = frozenset(key for form, key in zip(g.forms, keys, strict=True) if form)
        made.append(Keyed(g, keys, ways, forms))
    return made


def _keys(g: Placed, lane_of: Mapping[Home, int], depth: int) -> list[Key]:
    count: collections.Counter[Any] = collections.Counter()
    keys = []
    for op, home in zip(g.graph.ops, g.homes, strict=True):
        count[home, op.kind] += 1
        keys.append((lane_of[home[:depth]], home[depth:], op.kind, count[home, op.kind]))
    return keys


def _joins(g: Placed, op: Op) -> bool:
    """Whether ways meet here, though the operation does nothing to what flows back: an addition."""
    ways = [edge for edge in op.edges if isinstance(edge.to, int) and not g.forms[edge.to]]
    return len(ways) > 1


class _Following(NamedTuple):
    """The ways of a graph from one drawn operation to the next."""

    placed: Placed
    keys: list[Key]
    drawn: set[Key]
    depth: int

    def ways(self, i: int) -> Iterator[tuple[Any, bool, str]]:
        for edge in self.placed.graph.ops[i].edges:
            if isinstance(edge.to, str):
                if edge.to in self.placed.leaves:
                    yield edge.to, edge.flows, edge.cut
            elif self.keys[edge.to] not in self.drawn:
                for target, flows, cut in self.ways(edge.to):
                    yield target, edge.flows and flows, edge.cut or cut
            elif not self.between_members(i, edge.to):
                yield self.keys[edge.to], edge.flows, edge.cut

    def between_members(self, i: int, j: int) -> bool:
        """Whether two operations are in different modules that are one lane."""
        a, b = (self.placed.homes[k][: self.depth] for k in (i, j))
        return a != b and self.keys[i][0] == self.keys[j][0]
