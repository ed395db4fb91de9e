"""Merge the graphs of several settings into one diagram with shared lanes, boxes and edges.

A lane is a module. If a lane has too many operations, transposes and casts of a parameter first
move into the box of their consumer; then each submodule becomes one box, then the operations with
the same states in all settings do, then all but the hooks and gradient reversals, and finally the
whole lane does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._keys import Indexed, Key, index_graphs
from jaxgrad.graph._lanes import Assigned, ModulePath, module_path
from jaxgrad.graph._model import ABSENT, Op, distinct
from jaxgrad.graph._runs import Run, runs
from jaxgrad.graph._split import by_states, without
from jaxgrad.graph._states import BoxEdge, ParamBadge, View, view


SHORT = {  # torch's word, if it is short
    "broadcast_in_dim": "expand",
    "conv_general_dilated": "conv",
    "convert_element_type": "cast",
    "dot_general": "dot",
    "reverse_gradient": "reverse",
    "transpose": "T",
}


ALL = "all"  # the badge of all parameters of a lane
_MAIN = 2  # operations that a box of several operations may name
_MINOR = {  # operations that move or add values
    *("add", "add_any", "broadcast_in_dim", "convert_element_type"),
    *("reduce_sum", "reshape", "squeeze", "transpose"),
    *("Add", "Expand", "Permute", "Sum", "T", "Transpose", "Unsqueeze", "View"),
}


class Box(NamedTuple):
    lane: int
    text: str
    members: tuple[str, ...]  # names of its operations
    folded: bool
    is_relayout: bool  # it only changes a layout or dtype
    main: str = ""  # the names of its main operations, if these are few


class Diagram(NamedTuple):
    lanes: tuple[str, ...]
    boxes: Mapping[Key, Box]
    badges: Mapping[Key, ParamBadge]
    edges: tuple[BoxEdge, ...]
    views: tuple[View, ...]


def fold(
    graphs: Sequence[Assigned],
    depth: int,
    max_boxes: Callable[[str], int],
    max_badges: int,
    *,
    rearranging: bool = False,
) -> Diagram:
    """Merge the graphs of one framework into one diagram.

    Args:
        graphs: One graph for each setting.
        depth: Number of components of a module's path that name a lane.
        max_boxes: Maps a lane's name to its largest number of boxes.
        max_badges: Largest number of parameters in a lane that get their own badges.
        rearranging: Whether operations that only change a layout or dtype get their own boxes.
    """
    lanes = runs(graphs, depth)
    lane_of = {path: i for i, run in enumerate(lanes) for path in run}
    indexed = index_graphs(graphs, lane_of, depth)
    leaves = [[] for _ in lanes]
    for name in graphs[0].leaves:
        leaves[_lane_of_leaf(name, indexed, lane_of)].append(name)
    names = tuple(map(_lane_name, lanes, leaves))
    drawn = distinct(key for each in indexed for key in each.edges)
    box_of: dict[Key, Key] = {}
    for lane, name in enumerate(names):
        mine = [key for key in drawn if key[0] == lane]
        box_of |= next(
            choice
            for choice in _choices(lane, mine, indexed)[0 if rearranging else 1 :]
            if len(set(choice.values())) <= max_boxes(name) and _acyclic(choice, indexed)
        )
    indexed = without(indexed, box_of)
    badges = _badges(indexed, lane_of, depth, max_badges)
    end_of = box_of | {name: key for key, badge in badges.items() for name in badge.leaves}
    views = tuple(view(each, end_of, badges) for each in indexed)
    edges = tuple(_edges(indexed, end_of, views))
    return Diagram(names, _boxes(indexed, box_of), badges, edges, views)


def _choices(lane: int, keys: list[Key], indexed: list[Indexed]) -> list[dict[Key, Key]]:
    """List assignments of a lane's operations to boxes, from the most boxes to a single box."""
    choices = [{key: key for key in keys}, _relayouts_inside(keys, indexed)]
    deepest = max((len(key[1]) for key in keys), default=0)
    for depth in range(deepest, 0, -1):
        paths, shorter = ({key[1][:d] for key in keys} for d in (depth, depth - 1))
        if depth == 1 or len(paths) > len(shorter):  # else the boxes stay the same
            choices.append({key: (lane, key[1][:depth]) if key[1] else key for key in keys})
    if len(indexed) > 1:
        choices.append(by_states(lane, keys, indexed))
    rules = {
        key
        for each in indexed
        for op, key in zip(each.graph.ops, each.keys, strict=True)
        if op.name.startswith("attach ")  # a hook or a reversal: the point of the program
    }
    if not rules.isdisjoint(keys):
        choices.append({key: key if key in rules else (lane, ()) for key in keys})
    return [*choices, dict.fromkeys(keys, (lane, ()))]


def _relayouts_inside(keys: list[Key], indexed: list[Indexed]) -> dict[Key, Key]:
    box_of = {key: key for key in keys}
    for each in indexed:
        for key in reversed(keys):  # a consumer comes before its producers, so its box is final
            for target, *_ in each.edges.get(key, ()):
                if target in each.relayouts and target in box_of:
                    box_of[target] = box_of[key]
    return box_of


def _acyclic(box_of: Mapping[Key, Key], indexed: list[Indexed]) -> bool:
    """Return whether the edges between boxes form no cycle."""
    after: dict[Key, set[Key]] = {box: set() for box in box_of.values()}
    for each in indexed:
        for key in box_of:
            targets = {box_of[t] for t, *_ in each.edges.get(key, ()) if t in box_of}
            after[box_of[key]] |= targets - {box_of[key]}
    while after:
        last = [box for box, targets in after.items() if not targets & after.keys()]
        if not last:
            return False
        for box in last:
            del after[box]
    return True


def _boxes(indexed: list[Indexed], box_of: Mapping[Key, Key]) -> dict[Key, Box]:
    members: dict[Key, dict[Key, Op]] = {}
    for each in indexed:
        for op, key in zip(each.graph.ops, each.keys, strict=True):
            if key in box_of:
                known = members.setdefault(box_of[key], {})
                best = known.setdefault(key, op)
                if best.state == ABSENT:
                    known[key] = op
    relayouts = frozenset[Key]().union(*(each.relayouts for each in indexed))
    return {key: _box(key, ops, key in relayouts) for key, ops in members.items()}


def named(diagram: Diagram, keys: Collection[Key]) -> Diagram:
    """Return the diagram with the names of the main operations in those boxes of several."""
    boxes = {
        key: box._replace(text=box.main or box.text) if key in keys else box
        for key, box in diagram.boxes.items()
    }
    return diagram._replace(boxes=boxes)


def counted(count: int) -> str:
    """Return the text of a box that only says how many operations it has."""
    return "1 op" if count == 1 else f"{count} ops"


def _box(key: Key, ops: Mapping[Key, Op], is_relayout: bool) -> Box:
    names = tuple(op.name for op in ops.values())
    if not isinstance(key[-2], str):  # a box of several operations
        text = ".".join(key[1]) or counted(len(ops))
        text = f".{text}" if key[1] and text.isdigit() else text
        main = distinct(_plain(op.of or op.name) for op in ops.values())
        main = [SHORT.get(name) or name for name in main if name not in _MINOR]
        few = ", ".join(main) if len(main) <= _MAIN and not key[1] else ""
        return Box(key[0], text, names, folded=len(ops) > 1, is_relayout=False, main=few)
    op = ops[key]
    text = SHORT.get(op.folded, op.folded) or SHORT.get(op.name) or _plain(op.name)
    folded = bool(op.folded) and not op.folded.startswith("hook")
    return Box(key[0], text, names, folded, is_relayout)


def _plain(name: str) -> str:
    """Return the name of a node of torch without its namespace and its ending."""
    return name.rsplit("::", maxsplit=1)[-1].split("Backward", maxsplit=1)[0]


def _badges(
    indexed: Sequence[Indexed], lane_of: Mapping[ModulePath, int], depth: int, max_badges: int
) -> dict[Key, ParamBadge]:
    """Make a badge for each parameter, or for all of a lane's with the same kind of gradient."""
    by_lane: dict[int, list[str]] = {}
    for name in indexed[0].assigned.leaves:
        by_lane.setdefault(_lane_of_leaf(name, indexed, lane_of), []).append(name)
    badges: dict[Key, ParamBadge] = {}
    for lane, names in by_lane.items():
        if len(names) <= max_badges:
            groups = {name: [name] for name in names}
        else:
            groups = {}
            for name in names:
                kinds = tuple(each.graph.leaf(name).kind for each in indexed)
                groups.setdefault((kinds, "." in name or name), []).append(name)
        for group in groups.values():
            short = group[0].split(".")[depth:] or group[0].split(".")[-1:]
            one = len({module_path(name)[:depth] for name in group}) == 1
            text = ALL if one and len(group) == len(names) else f"{len(group)} params"
            text = ".".join(short) if len(group) == 1 else text
            badges["leaves", lane, group[0]] = ParamBadge(lane, text, tuple(group))
    return badges


def _lane_of_leaf(name: str, indexed: Sequence[Indexed], lane_of: Mapping[ModulePath, int]) -> int:
    """Return the lane of a parameter's module, else of its first consumer."""
    paths = [path for path in lane_of if module_path(name)[: len(path)] == path]
    if paths:
        return lane_of[max(paths, key=len)]
    readers = (
        key
        for each in indexed
        for op, key in zip(each.graph.ops, each.keys, strict=True)
        if any(edge.to == name for edge in op.edges)
    )
    return next(readers, (0,))[0]


def _edges(
    indexed: Sequence[Indexed], end_of: Mapping[Any, Key], views: Sequence[View]
) -> list[BoxEdge]:
    """Return the edges that any setting uses or cuts, and the other edges of unreached boxes."""
    used = [edge for view in views for edge in (*view.flows, *view.cuts)]
    known = {end for view in views for edge in view.flows for end in edge}
    outlines = [
        (end_of[key], end_of[target])
        for each in indexed
        for key, targets in each.edges.items()
        for target, *_ in targets
        if target in end_of and end_of[key] != end_of[target]
    ]
    return distinct([*used, *(edge for edge in outlines if not known.issuperset(edge))])


def _lane_name(run: Run, leaves: Sequence[str]) -> str:
    """Name a lane after its modules, or after the top-level parameters that it reads."""
    if len(run) == 1 and ".".join(run[0]) in leaves and len(leaves) <= 3:
        return ", ".join(leaves)
    first, last = ".".join(run[0]), run[-1][-1]
    return first if len(run) == 1 else f"{first} … {last} ×{len(run)}"
