"""Which lanes there are: modules in the order of time, and those that are alike as one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from jaxgrad.graph._lanes import LOSS, Home, Placed, home_of, place
from jaxgrad.graph._model import Graph, distinct


MAX_LANES = 14
Run = list[Home]  # the modules that are one lane


def place_all(graphs: Sequence[Graph], others: Sequence[Graph] = ()) -> list[Placed]:
    """Graphs of one framework; parameters that only the other knows have no slot in JAX."""
    names, known = (
        tuple(distinct(leaf.name for g in side for leaf in g.leaves if leaf.slot))
        for side in (graphs, others)
    )
    if graphs[0].framework == "JAX" and set(names) < set(known):
        names = known
    return [place(graph, names) for graph in graphs]


def depths_for(sides: Sequence[Sequence[Placed]]) -> list[int]:
    """How much of a module's path may name a lane, the best first, then less and less.

    Best is as much as leaves few lanes, in order of time; if they are too many even so, as little
    as makes enough of them alike.
    """
    every = [g for graphs in sides for g in graphs]
    best = min(map(depth_for, sides))
    return [best, *(d for d in range(best - 1, 0, -1) if all(_in_order(g, d) for g in every))]


def depth_for(graphs: Sequence[Placed]) -> int:
    deepest = max((len(home) for g in graphs for home in g.homes), default=1)
    depths = [d for d in range(deepest, 1, -1) if all(_in_order(g, d) for g in graphs)]
    few = [d for d in depths if len(_modules(graphs, d)) <= MAX_LANES]
    alike = [d for d in reversed(depths) if len(runs(graphs, d)) <= MAX_LANES]
    return next(iter([*few, *alike]), 1)


def runs(graphs: Sequence[Placed], depth: int) -> list[Run]:
    """The lanes; of more than a reader takes in, neighbours that are alike are one."""
    modules = _modules(graphs, depth)
    found = [[home] for home in modules]
    if len(found) > MAX_LANES:
        found = _grouped(modules, lambda home: _program(home, graphs, depth))
    if len(found) > MAX_LANES:
        found = _grouped(modules, lambda home: _parameters(home, graphs, depth))
    return found


def _in_order(g: Placed, depth: int) -> bool:
    """Whether every operation reads from its own lane or from an earlier one."""
    order: dict[Home, int] = {}
    for op, home in zip(g.graph.ops, g.homes, strict=True):
        here = order.setdefault(home[:depth], len(order) if home != LOSS else 10**6)
        for edge in op.edges:
            if isinstance(edge.to, int) and order[g.homes[edge.to][:depth]] > here:
                return False
    return True


def _modules(graphs: Sequence[Placed], depth: int) -> list[Home]:
    fullest = sorted(graphs, key=lambda g: -len(g.homes))
    found = distinct(home[:depth] for g in fullest for home in g.homes)
    found = [home for home in found if home != LOSS] + [LOSS] * (LOSS in found)
    before = 0  # a module that never ran stands where its parameters do
    for home in distinct(home_of(name)[:depth] for name in graphs[0].leaves):
        if home in found:
            before = found.index(home) + 1
        elif _never_read(home, graphs, depth):
            found.insert(before, home)
            before += 1
    return found


def _never_read(home: Home, graphs: Sequence[Placed], depth: int) -> bool:
    mine = {name for name in graphs[0].leaves if home_of(name)[:depth] == home}
    return not mine & {edge.to for g in graphs for op in g.graph.ops for edge in op.edges}


def _grouped(modules: list[Home], alike: Callable[[Home], Any]) -> list[Run]:
    return [list(run) for _, run in itertools.groupby(modules, key=alike)]


def _program(home: Home, graphs: Sequence[Placed], depth: int) -> Any:
    """What a module does, and what becomes of it."""

    def of(g: Placed) -> Any:
        mine = [op for op, h in zip(g.graph.ops, g.homes, strict=True) if h[:depth] == home]
        return sorted((op.name, op.state, op.drawn) for op in mine)

    return [of(g) for g in graphs], _parameters(home, graphs, depth)


def _parameters(home: Home, graphs: Sequence[Placed], depth: int) -> Any:
    """What a module's parameters are called, and what lands on them."""
    mine = [name for name in graphs[0].leaves if home_of(name)[:depth] == home]
    kinds = [[g.graph.leaf(name).kind for name in mine] for g in graphs]
    return [name.split(".")[depth:] for name in mine] or home, kinds
