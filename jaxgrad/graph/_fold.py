"""Graphs of several settings become one diagram: lanes, boxes and ways that all of them share.

A lane is a module. Where a lane has more operations than a reader takes in, those of a submodule
are one box; neighbours that are alike (the blocks of a deep network) are one lane.
"""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._lanes import LOSS, Home, Placed, home_of, place
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED, Graph, Leaf, Op, distinct


MAX_LANES, MAX_PILLS = 14, 3
SHORT = {
    "broadcast_in_dim": "broadcast",
    "conv_general_dilated": "conv",
    "convert_element_type": "cast",
    "dot_general": "dot",
    "integer_pow": "pow",
    "reduce_max": "max",
    "reduce_sum": "sum",
    "select_n": "select",
}
Way = tuple[Any, Any]  # from a box's key to another's, or to a pill's


class Box(NamedTuple):
    lane: int
    text: str
    members: tuple[str, ...]  # names of its operations
    folded: bool
    form: bool  # a parameter in another form: beside the main way


class Pill(NamedTuple):
    lane: int
    text: str
    leaves: tuple[str, ...]


class View(NamedTuple):
    """One setting: what its graph has of the diagram."""

    graph: Graph
    states: Mapping[Any, str]  # of boxes
    flows: Mapping[Way, str]  # REACHED or RECORDED
    cuts: Mapping[Way, str]  # the tool's name
    pills: Mapping[Any, tuple[str, str]]  # (kind, text); kinds: value, zero, none, no slot
    failed: Any  # the key of a box, or None
    steps: Mapping[Any, tuple[str, ...]]  # of boxes: what a reader sees when pointing there


class Diagram(NamedTuple):
    lanes: tuple[str, ...]
    boxes: Mapping[Any, Box]
    pills: Mapping[Any, Pill]
    ways: tuple[Way, ...]
    views: tuple[View, ...]


def placed(graphs: Sequence[Graph]) -> list[Placed]:
    names = tuple(distinct(leaf.name for g in graphs for leaf in g.leaves if leaf.slot))
    return [place(graph, names) for graph in graphs]


def depth_for(graphs: Sequence[Placed]) -> int:
    """How much of a module's path names a lane: as much as leaves few lanes, in order of time."""
    deepest = max((len(home) for g in graphs for home in g.homes), default=1)
    for depth in range(deepest, 1, -1):
        if len(_lanes(graphs, depth)) <= MAX_LANES and all(_in_order(g, depth) for g in graphs):
            return depth
    return 1


def fold(graphs: Sequence[Placed], depth: int, most: Callable[[str], int]) -> Diagram:
    """One diagram of the graphs of one framework, with at most `most(lane)` boxes in a lane."""
    return _Folding(graphs, depth, most).diagram()


def _in_order(g: Placed, depth: int) -> bool:
    """Whether every operation reads from its own lane or from an earlier one."""
    order: dict[Home, int] = {}
    for op, home in zip(g.graph.ops, g.homes, strict=True):
        place = order.setdefault(home[:depth], len(order) if home != LOSS else 10**6)
        for edge in op.edges:
            if isinstance(edge.to, int) and order[g.homes[edge.to][:depth]] > place:
                return False
    return True


def _lanes(graphs: Sequence[Placed], depth: int) -> list[list[Home]]:
    """The lanes in the order of time, each a run of modules that are alike."""
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
    if len(found) <= MAX_LANES:
        return [[home] for home in found]
    alike = itertools.groupby(found, key=lambda home: _signature(home, graphs, depth))
    return [list(run) for _, run in alike]


def _never_read(home: Home, graphs: Sequence[Placed], depth: int) -> bool:
    """Whether no operation reads a parameter of this module."""
    mine = {name for name in graphs[0].leaves if home_of(name)[:depth] == home}
    return not mine & {edge.to for g in graphs for op in g.graph.ops for edge in op.edges}


def _signature(home: Home, graphs: Sequence[Placed], depth: int) -> Any:
    def of(g: Placed) -> Any:
        mine = [op for op, h in zip(g.graph.ops, g.homes, strict=True) if h[:depth] == home]
        return sorted((op.name, op.state, op.drawn) for op in mine)

    return [of(g) for g in graphs]


class _Folding:
    def __init__(self, graphs: Sequence[Placed], depth: int, most: Callable[[str], int]):
        self.graphs, self.depth, self.most = graphs, depth, most
        runs = _lanes(graphs, depth)
        self.lane_of = {home: i for i, run in enumerate(runs) for home in run}
        self.names = tuple(map(_lane_name, runs))
        self.merged = {i for i, run in enumerate(runs) if len(run) > 1}
        self.op_keys = [self._op_keys(g) for g in graphs]
        self.forms = {
            key
            for g, keys in zip(graphs, self.op_keys, strict=True)
            for form, key in zip(g.forms, keys, strict=True)
            if form
        }
        self.drawn = {
            key
            for g, keys in zip(graphs, self.op_keys, strict=True)
            for op, key in zip(g.graph.ops, keys, strict=True)
            if op.drawn or _joins(g, op)
        }
        self.box_of = self._box_of()
        self.pills = self._pills()
        self.pill_of = {name: key for key, pill in self.pills.items() for name in pill.leaves}

    def diagram(self) -> Diagram:
        views = [self._view(g, keys) for g, keys in zip(self.graphs, self.op_keys, strict=True)]
        boxes: dict[Any, Box] = {}
        for lane in range(len(self.names)):
            members = collections.defaultdict[Any, dict[Any, Op]](dict)
            for g, keys in zip(self.graphs, self.op_keys, strict=True):
                for op, key in zip(g.graph.ops, keys, strict=True):
                    if key in self.drawn and key[0] == lane:
                        best = members[self.box_of[key]].setdefault(key, op)
                        if best.state == ABSENT:  # another setting knows its name in full
                            members[self.box_of[key]][key] = op
            boxes |= {key: self._box(lane, key, ops) for key, ops in members.items()}
        ways = distinct(way for view in views for way in (*view.flows, *view.cuts))
        known = {end for view in views for way in view.flows for end in way}
        ways += [way for way in distinct(self._outlines(boxes)) if not known.issuperset(way)]
        ways = distinct(ways)
        return Diagram(self.names, boxes, self.pills, tuple(ways), tuple(views))

    def _box(self, lane: int, key: Any, ops: Mapping[Any, Op]) -> Box:
        names = tuple(op.name for op in ops.values())
        if len(key) == 2:
            path = ".".join(key[1])
            text = f"{path} · {len(ops)} ops".removeprefix(" · ")
            return Box(lane, text, names, folded=True, form=False)
        op = ops[key]
        text = op.folded or SHORT.get(op.name) or op.name.split("Backward")[0]
        return Box(lane, text if op.drawn else "+", names, bool(op.folded), key in self.forms)

    def _op_keys(self, g: Placed) -> list[Any]:
        """A key for each operation: lane, path within it, kind, and the how-manieth."""
        count: collections.Counter[Any] = collections.Counter()
        keys = []
        for op, home in zip(g.graph.ops, g.homes, strict=True):
            count[home, op.kind] += 1
            lane = self.lane_of[home[: self.depth]]
            keys.append((lane, home[self.depth :], op.kind, count[home, op.kind]))
        return keys

    def _box_of(self) -> dict[Any, Any]:
        """Which box an operation is in: its own, its submodule's or its lane's."""
        box_of: dict[Any, Any] = {}
        for lane in range(len(self.names)):
            keys = [key for key in distinct(k for ks in self.op_keys for k in ks)]
            keys = [key for key in keys if key[0] == lane and key in self.drawn]
            box_of |= next(
                choice
                for choice in self._choices(lane, keys)
                if len(set(choice.values())) <= self.most(self.names[lane]) and self._acyclic(choice)
            )
        return box_of

    def _choices(self, lane: int, keys: list[Any]) -> Iterator[dict[Any, Any]]:
        yield {key: key for key in keys}
        yield self._forms_inside(keys)
        deepest = max((len(key[1]) for key in keys), default=0)
        for depth in range(deepest, 0, -1):
            size = collections.Counter(key[1][:depth] for key in keys)
            yield {
                key: (lane, key[1][:depth]) if key[1] and size[key[1][:depth]] > 1 else key
                for key in keys
            }
        yield {key: (lane, ()) for key in keys}

    def _forms_inside(self, keys: list[Any]) -> dict[Any, Any]:
        """What only changes the form of a parameter, in the box of what reads it."""
        box_of = {key: key for key in keys}
        for g, of in zip(self.graphs, self.op_keys, strict=True):
            for i, key in enumerate(of):
                for target, *_ in self._ways(g, of, i) if key in box_of else ():
                    if target in self.forms and target in box_of and key != target:
                        box_of[target] = box_of[key]
        return box_of

    def _acyclic(self, box_of: dict[Any, Any]) -> bool:
        """Whether no box is before and after another."""
        after = collections.defaultdict[Any, set[Any]](set)
        for g, keys in zip(self.graphs, self.op_keys, strict=True):
            for i, key in enumerate(keys):
                if key in box_of:
                    ways = self._ways(g, keys, i)
                    after[box_of[key]] |= {box_of[t] for t, *_ in ways if t in box_of}
        done: set[Any] = set()

        def visit(box: Any, above: frozenset[Any]) -> bool:
            if box in above:
                return False
            if box in done:
                return True
            inside = above | {box}
            fine = all(visit(t, inside) for t in after[box] if t != box)
            done.add(box)
            return fine

        return all(visit(box, frozenset()) for box in list(after))

    def _ways(self, g: Placed, keys: list[Any], i: int) -> Iterator[tuple[Any, bool, str]]:
        """From a drawn operation to the next drawn ones, through those that are not."""
        for edge in g.graph.ops[i].edges:
            if isinstance(edge.to, str):
                if edge.to in g.leaves:
                    yield edge.to, edge.flows, edge.cut
            elif keys[edge.to] in self.drawn:
                if not self._other_member(g, i, edge.to):
                    yield keys[edge.to], edge.flows, edge.cut
            else:
                for target, flows, cut in self._ways(g, keys, edge.to):
                    yield target, edge.flows and flows, edge.cut or cut

    def _other_member(self, g: Placed, i: int, j: int) -> bool:
        """Whether two operations are in different modules of one lane."""
        a, b = (g.homes[k][: self.depth] for k in (i, j))
        return a != b and self.lane_of[a] == self.lane_of[b]

    def _view(self, g: Placed, keys: list[Any]) -> View:
        graph = g.graph
        pills = {key: _pill_state(pill, graph) for key, pill in self.pills.items()}
        states: dict[Any, str] = {}
        steps = collections.defaultdict[Any, list[str]](list)
        flows: dict[Way, str] = {}
        cuts: dict[Way, str] = {}
        front = _front(graph)
        for i, (op, key) in enumerate(zip(graph.ops, keys, strict=True)):
            if key not in self.drawn:
                continue
            box, state = self.box_of[key], op.state
            states[box] = min(states.get(box, ABSENT), state, key=(REACHED, RECORDED, ABSENT).index)
            steps[box] += [f"{op.name}: {', '.join(op.steps)}" if op.steps else op.name]
            for target, flow, cut in self._ways(g, keys, i):
                way = (box, self.pill_of.get(target) or self.box_of.get(target))
                if way[0] == way[1] or way[1] is None:
                    continue
                if cut and i in front:
                    cuts[way] = cut
                elif flow and state != ABSENT:
                    flows[way] = REACHED if REACHED in (state, flows.get(way)) else RECORDED
        for (box, to), state in list(flows.items()):
            gone = states.get(to) == ABSENT or (to in pills and pills[to][0] in ("none", "no slot"))
            if state == REACHED and gone:
                del flows[box, to]
        cuts = {way: cut for way, cut in cuts.items() if way not in flows}
        failed = graph.failure and graph.failure.op is not None and keys[graph.failure.op]
        failed = self.box_of.get(failed) if failed else None
        return View(
            graph, states, flows, cuts, pills, failed, {k: tuple(v) for k, v in steps.items()}
        )

    def _outlines(self, boxes: Mapping[Any, Box]) -> Iterator[Way]:
        """Ways that no setting takes, between boxes that no setting reaches."""
        for g, keys in zip(self.graphs, self.op_keys, strict=True):
            for i, key in enumerate(keys):
                if key in self.drawn:
                    for target, _, _ in self._ways(g, keys, i):
                        way = (self.box_of[key], self.pill_of.get(target) or self.box_of.get(target))
                        if way[0] != way[1] and way[1] is not None and way[0] in boxes:
                            yield way

    def _pills(self) -> dict[Any, Pill]:
        lanes: dict[int, list[str]] = collections.defaultdict(list)
        for name in self.graphs[0].leaves:
            lanes[self._leaf_lane(name)].append(name)
        found: dict[Any, Pill] = {}
        for lane, names in lanes.items():
            if len(names) <= (MAX_PILLS if self.most(self.names[lane]) > 1 else 1):
                found |= {("leaf", n): Pill(lane, self._short(n), (n,)) for n in names}
                continue
            groups = collections.defaultdict[Any, list[str]](list)
            for name in names:
                groups[tuple(_leaf_kind(_leaf(g.graph, name)) for g in self.graphs)].append(name)
            for i, group in enumerate(groups.values()):
                text = f"{len(group)} params" if len(group) > 1 else self._short(group[0])
                found["leaves", lane, i] = Pill(lane, text, tuple(group))
        return found

    def _leaf_lane(self, name: str) -> int:
        """Where the module of a parameter is, else where it is read first."""
        home = home_of(name)[: self.depth]
        if home in self.lane_of:
            return self.lane_of[home]
        for g, keys in zip(self.graphs, self.op_keys, strict=True):
            for op, key in zip(g.graph.ops, keys, strict=True):
                if any(edge.to == name for edge in op.edges):
                    return key[0]
        return 0

    def _short(self, name: str) -> str:
        """What the lane does not say already."""
        parts = name.split(".")
        return ".".join(parts[self.depth :] if len(parts) > self.depth else parts[-1:])


def _lane_name(run: list[Home]) -> str:
    first, last = ".".join(run[0]), run[-1][-1]
    return first if len(run) == 1 else f"{first} … {last} ×{len(run)}"


def _joins(g: Placed, op: Op) -> bool:
    """Whether ways meet here, though the operation does nothing to what flows back: an addition."""
    ways = [edge for edge in op.edges if isinstance(edge.to, int)]
    return len([edge for edge in ways if not g.forms[edge.to]]) > 1


def _front(graph: Graph) -> set[int]:
    """The operations before the first cut, seen from the loss."""
    targets = {edge.to for op in graph.ops for edge in op.edges}
    last = len(graph.ops) - 1
    if graph.failure and graph.failure.op is not None and graph.failure.op not in targets:
        last = graph.failure.op
    todo = [i for i, op in enumerate(graph.ops) if op.state == REACHED] or [last]
    front: set[int] = set()
    while todo:
        i = todo.pop()
        if 0 <= i not in front:
            front.add(i)
            todo += [e.to for e in graph.ops[i].edges if isinstance(e.to, int) and not e.cut]
    return front


def _leaf(graph: Graph, name: str) -> Leaf:
    absent = Leaf(name, None, slot=graph.framework == "torch")
    return next((leaf for leaf in graph.leaves if leaf.name == name), absent)


def _leaf_kind(leaf: Leaf) -> str:
    if not leaf.slot:
        return "no slot"
    if leaf.grad is None:
        return "none"
    return "zero" if leaf.grad == 0 else "value"


def _pill_state(pill: Pill, graph: Graph) -> tuple[str, str]:
    leaves = [_leaf(graph, name) for name in pill.leaves]
    kind = _leaf_kind(leaves[0])
    norm = math.hypot(*(leaf.grad or 0.0 for leaf in leaves))
    words = {"value": _number(norm), "zero": "0", "none": "None", "no slot": "no slot"}
    return kind, words[kind]


def _number(x: float) -> str:
    return "" if math.isnan(x) else f"{x:.3g}".replace("e-0", "e-").replace("e+0", "e")
