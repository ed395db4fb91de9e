"""Graphs of several settings become one diagram: lanes, boxes and ways that all of them share.

A lane is a module. Where it has more operations than there is room for, what only changes the form
of a parameter goes into the box of what reads it, then the operations of a submodule are one box,
then those of the lane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jaxgrad.graph._keys import Key, Keyed, keyed
from jaxgrad.graph._lanes import Home, Placed, home_of
from jaxgrad.graph._model import ABSENT, Op, distinct
from jaxgrad.graph._runs import Run, runs
from jaxgrad.graph._states import Pill, View, Way, view


SHORT = {
    "broadcast_in_dim": "bcast",
    "conv_general_dilated": "conv",
    "convert_element_type": "cast",
    "dot_general": "dot",
    "integer_pow": "pow",
    "reduce_max": "max",
    "reduce_sum": "sum",
    "select_n": "select",
    "transpose": "T",
}


class Box(NamedTuple):
    lane: int
    text: str
    members: tuple[str, ...]  # names of its operations
    folded: bool
    form: bool  # a parameter in another form: beside the main way


class Diagram(NamedTuple):
    lanes: tuple[str, ...]
    boxes: Mapping[Key, Box]
    pills: Mapping[Key, Pill]
    ways: tuple[Way, ...]
    views: tuple[View, ...]


def fold(
    graphs: Sequence[Placed], depth: int, most: Callable[[str], int], most_pills: int
) -> Diagram:
    """One diagram of the graphs of one framework.

    Args:
      graphs: One a setting.
      depth: How much of a module's path names a lane.
      most: How many boxes a lane may have, by its name.
      most_pills: How many parameters a lane may have before they are counted together.
    """
    lanes = runs(graphs, depth)
    names = tuple(map(_lane_name, lanes))
    lane_of = {home: i for i, run in enumerate(lanes) for home in run}
    every = keyed(graphs, lane_of, depth)
    drawn = distinct(key for each in every for key in each.ways)
    box_of: dict[Key, Key] = {}
    for lane, name in enumerate(names):
        mine = [key for key in drawn if key[0] == lane]
        box_of |= next(
            choice
            for choice in _choices(lane, mine, every)
            if len(set(choice.values())) <= most(name) and _acyclic(choice, every)
        )
    pills = _pills(every, lane_of, depth, most_pills)
    end_of = box_of | {name: key for key, pill in pills.items() for name in pill.leaves}
    views = tuple(view(each, end_of, pills) for each in every)
    ways = tuple(_ways(every, end_of, views))
    return Diagram(names, _boxes(every, box_of), pills, ways, views)


def _choices(lane: int, keys: list[Key], every: list[Keyed]) -> Iterator[dict[Key, Key]]:
    """Which box each operation of a lane is in, from many boxes to one."""
    yield {key: key for key in keys}
    yield _forms_inside(keys, every)
    deepest = max((len(key[1]) for key in keys), default=0)
    for depth in range(deepest, 0, -1):
        paths, shorter = ({key[1][:d] for key in keys} for d in (depth, depth - 1))
        if depth == 1 or len(paths) > len(shorter):  # else a longer name for the same
            yield {key: (lane, key[1][:depth]) if key[1] else key for key in keys}
    yield dict.fromkeys(keys, (lane, ()))


def _forms_inside(keys: list[Key], every: list[Keyed]) -> dict[Key, Key]:
    box_of = {key: key for key in keys}
    for each in every:
        for key in reversed(keys):  # what reads comes first: its box is settled
            for target, *_ in each.ways.get(key, ()):
                if target in each.forms and target in box_of:
                    box_of[target] = box_of[key]
    return box_of


def _acyclic(box_of: Mapping[Key, Key], every: list[Keyed]) -> bool:
    """Whether no box is before and after another."""
    after: dict[Key, set[Key]] = {box: set() for box in box_of.values()}
    for each in every:
        for key in box_of:
            targets = {box_of[t] for t, *_ in each.ways.get(key, ()) if t in box_of}
            after[box_of[key]] |= targets - {box_of[key]}
    while after:
        last = [box for box, targets in after.items() if not targets & after.keys()]
        if not last:
            return False
        for box in last:
            del after[box]
    return True


def _boxes(every: list[Keyed], box_of: Mapping[Key, Key]) -> dict[Key, Box]:
    members: dict[Key, dict[Key, Op]] = {}
    for each in every:
        for op, key in zip(each.graph.ops, each.keys, strict=True):
            if key in box_of:
                known = members.setdefault(box_of[key], {})
                best = known.setdefault(key, op)
                if best.state == ABSENT or (op.drawn and not best.drawn):
                    known[key] = op  # another setting has its name in full
    forms = frozenset[Key]().union(*(each.forms for each in every))
    return {key: _box(key, ops, key in forms) for key, ops in members.items()}


def _box(key: Key, ops: Mapping[Key, Op], form: bool) -> Box:
    names = tuple(op.name for op in ops.values())
    if len(key) == 2:
        text = ".".join(key[1]) or f"{len(ops)} ops"
        text = f".{text}" if key[1] and text.isdigit() else text
        return Box(key[0], text, names, folded=len(ops) > 1, form=False)
    op = ops[key]
    text = op.folded or SHORT.get(op.name) or op.name.split("Backward")[0]
    return Box(key[0], text if op.drawn else "+", names, bool(op.folded), form)


def _pills(
    every: Sequence[Keyed], lane_of: Mapping[Home, int], depth: int, most: int
) -> dict[Key, Pill]:
    """One for each parameter, or for those of a lane on which the same kind of thing lands."""
    by_lane: dict[int, list[str]] = {}
    for name in every[0].placed.leaves:
        by_lane.setdefault(_lane_of_leaf(name, every, lane_of), []).append(name)
    found: dict[Key, Pill] = {}
    for lane, names in by_lane.items():
        if len(names) <= most:
            groups = {name: [name] for name in names}
        else:
            groups = {}
            for name in names:
                kinds = tuple(each.graph.leaf(name).kind for each in every)
                groups.setdefault((kinds, "." in name or name), []).append(name)
        for group in groups.values():
            short = group[0].split(".")[depth:] or group[0].split(".")[-1:]
            text = ".".join(short) if len(group) == 1 else f"{len(group)} params"
            found["leaves", lane, group[0]] = Pill(lane, text, tuple(group))
    return found


def _lane_of_leaf(name: str, every: Sequence[Keyed], lane_of: Mapping[Home, int]) -> int:
    """Where the module of a parameter is, else where it is read first."""
    homes = [home for home in lane_of if home_of(name)[: len(home)] == home]
    if homes:
        return lane_of[max(homes, key=len)]
    readers = (
        key
        for each in every
        for op, key in zip(each.graph.ops, each.keys, strict=True)
        if any(edge.to == name for edge in op.edges)
    )
    return next(readers, (0,))[0]


def _ways(every: Sequence[Keyed], end_of: Mapping[Any, Key], views: Sequence[View]) -> list[Way]:
    """What any setting takes or cuts; between what none reaches, what would be there."""
    taken = [way for seen in views for way in (*seen.flows, *seen.cuts)]
    known = {end for seen in views for way in seen.flows for end in way}
    outlines = [
        (end_of[key], end_of[target])
        for each in every
        for key, targets in each.ways.items()
        for target, *_ in targets
        if target in end_of and end_of[key] != end_of[target]
    ]
    return distinct([*taken, *(way for way in outlines if not known.issuperset(way))])


def _lane_name(run: Run) -> str:
    first, last = ".".join(run[0]), run[-1][-1]
    return first if len(run) == 1 else f"{first} … {last} ×{len(run)}"
