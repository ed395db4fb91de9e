"""Choose the lanes: modules in execution order, with runs of similar modules merged."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jaxgrad.graph._lanes import LOSS, Assigned, ModulePath, assign, expanded, module_path
from jaxgrad.graph._model import Graph, distinct


MAX_LANES = 14
MAX_BARE = 4  # lanes without operations, of parameters that the loss reads
Run = list[ModulePath]  # the modules of one lane


def assign_all(graphs: Sequence[Graph], others: Sequence[Graph] = ()) -> list[Assigned]:
    """Assign operations to modules; JAX graphs take torch's parameters that they lack.

    They have torch's order too, since JAX sorts the keys of a dict: a module's `bias` would stand
    before its `weight`.
    """
    names, other_names = (
        tuple(distinct(leaf.name for g in side for leaf in g.leaves if leaf.slot))
        for side in (graphs, others)
    )
    if graphs[0].framework == "JAX" and set(names) < set(other_names):
        names = other_names
    elif graphs[0].framework == "JAX":
        shared = [name for name in other_names if name in names]
        names = tuple(distinct([*shared, *names]))
    assigned = _same_lanes([assign(graph, names) for graph in graphs])
    once = _once([each.kind for each in graph.equations] for graph in graphs)
    any_equations = any(graph.equations for graph in graphs)
    return [
        each._replace(graph=each.graph._replace(ops=()), paths=[], relayouts=[])
        if any_equations and not each.graph.equations and not each.graph.failure
        else expanded(each, once)  # an empty VJP beside another one has only outlines
        for each in assigned
    ]


def _once(listed: Iterable[Sequence[str]]) -> set[str]:
    """Return the kinds that occur at most once in each list."""
    counts = [collections.Counter(kinds) for kinds in listed]
    return {kind for each in counts for kind in each if all(c[kind] <= 1 for c in counts)}


def _same_lanes(graphs: list[Assigned]) -> list[Assigned]:
    """Move an operation to the loss if it belongs there in another setting of the same program.

    An operation that reads a parameter directly in one setting, and through another operation in
    the next, is then drawn at one place. Operations that occur twice are left alone.
    """
    once = _once([op.kind for op in g.graph.ops] for g in graphs)
    late = {
        op.kind
        for g in graphs
        for op, path in zip(g.graph.ops, g.paths, strict=True)
        if path == LOSS and op.kind in once
    }
    moved = []
    for g in graphs:
        paths = list(g.paths)
        readers: dict[int, list[int]] = collections.defaultdict(list)
        for i, op in enumerate(g.graph.ops):
            for edge in op.edges:
                if isinstance(edge.to, int):
                    readers[edge.to].append(i)
        for i in reversed(range(len(paths))):
            if g.graph.ops[i].kind in late and all(paths[j] == LOSS for j in readers[i]):
                paths[i] = LOSS
        moved.append(g._replace(paths=paths))
    return moved


def depths_for(sides: Sequence[Sequence[Assigned]]) -> list[int]:
    """Return the numbers of path components that may name a lane, the best first.

    The best is the largest that gives at most `MAX_LANES` lanes in execution order; failing that,
    the smallest for which merging similar neighbours does. Smaller numbers follow.
    """
    every = [g for graphs in sides for g in graphs]
    best = min(map(depth_for, sides))
    return [best, *(d for d in range(best - 1, 0, -1) if all(_in_order(g, d) for g in every))]


def depth_for(graphs: Sequence[Assigned]) -> int:
    deepest = max((len(path) for g in graphs for path in g.paths), default=1)
    depths = [d for d in range(deepest, 1, -1) if all(_in_order(g, d) for g in graphs)]
    few = [d for d in depths if len(_modules(graphs, d)) <= MAX_LANES]
    alike = [d for d in reversed(depths) if len(runs(graphs, d)) <= MAX_LANES]
    return next(iter([*few, *alike]), 1)


def runs(graphs: Sequence[Assigned], depth: int) -> list[Run]:
    """Return the lanes; if there are too many, similar neighbours are merged."""
    modules = _modules(graphs, depth)
    lanes = [[path] for path in modules]
    if len(lanes) > MAX_LANES:
        lanes = _grouped(modules, lambda path: _program(path, graphs, depth))
    if len(lanes) > MAX_LANES:
        lanes = _grouped(modules, lambda path: _parameters(path, graphs, depth))
    return lanes


def _in_order(g: Assigned, depth: int) -> bool:
    """Return whether every operation reads from its own lane or an earlier one."""
    order: dict[ModulePath, int] = {}
    for op, path in zip(g.graph.ops, g.paths, strict=True):
        here = order.setdefault(path[:depth], len(order) if path != LOSS else 10**6)
        for edge in op.edges:
            if isinstance(edge.to, int) and order[g.paths[edge.to][:depth]] > here:
                return False
    return True


def _modules(graphs: Sequence[Assigned], depth: int) -> list[ModulePath]:
    fullest = sorted(graphs, key=lambda g: -len(g.paths))
    modules = distinct(path[:depth] for g in fullest for path in g.paths)
    modules = [path for path in modules if path != LOSS]
    bare = [
        path
        for path in distinct(module_path(name)[:depth] for name in graphs[0].leaves)
        if path not in modules and _read_by_loss(path, graphs, depth)
    ]
    modules += bare if len(bare) <= MAX_BARE else []
    modules += [LOSS] * any(path[:depth] == LOSS for g in graphs for path in g.paths)
    position = 0  # a module that never ran is placed by the order of its parameters
    for path in distinct(module_path(name)[:depth] for name in graphs[0].leaves):
        if path in modules:
            position = modules.index(path) + 1
        elif _never_read(path, graphs, depth):
            modules.insert(position, path)
            position += 1
    return modules


def _never_read(path: ModulePath, graphs: Sequence[Assigned], depth: int) -> bool:
    mine = _leaves(path, graphs, depth)
    return not mine & {edge.to for g in graphs for op in g.graph.ops for edge in op.edges}


def _read_by_loss(path: ModulePath, graphs: Sequence[Assigned], depth: int) -> bool:
    """Return whether the loss alone reads a module's values."""
    mine = _leaves(path, graphs, depth)
    readers = {
        where[:depth]
        for g in graphs
        for op, where in zip(g.graph.ops, g.paths, strict=True)
        if any(edge.to in mine for edge in op.edges)
    }
    return readers == {LOSS}


def _leaves(path: ModulePath, graphs: Sequence[Assigned], depth: int) -> set[str]:
    return {name for name in graphs[0].leaves if module_path(name)[:depth] == path}


def _grouped(modules: list[ModulePath], alike: Callable[[ModulePath], Any]) -> list[Run]:
    return [list(run) for _, run in itertools.groupby(modules, key=alike)]


def _program(path: ModulePath, graphs: Sequence[Assigned], depth: int) -> Any:
    """Return a module's operations, their states and its parameters, for comparison."""

    def of(g: Assigned) -> Any:
        mine = [op for op, h in zip(g.graph.ops, g.paths, strict=True) if h[:depth] == path]
        return sorted((op.name, op.state, op.drawn) for op in mine)

    return [of(g) for g in graphs], _parameters(path, graphs, depth)


def _parameters(path: ModulePath, graphs: Sequence[Assigned], depth: int) -> Any:
    """Return the names of a module's parameters and the kinds of their gradients."""
    mine = [name for name in graphs[0].leaves if module_path(name)[:depth] == path]
    kinds = [[g.graph.leaf(name).kind for name in mine] for g in graphs]
    return [name.split(".")[depth:] for name in mine] or path, kinds
