"""What one setting has of the diagram: which boxes, which ways, what lands where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxgrad.graph._keys import Key, Keyed
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED, Graph


Way = tuple[Key, Key]  # from a box to another, or to a pill
_BEST = (REACHED, RECORDED, ABSENT)


class Pill(NamedTuple):
    lane: int
    text: str
    leaves: tuple[str, ...]


class View(NamedTuple):
    """One setting."""

    graph: Graph
    states: Mapping[Key, str]  # of boxes
    flows: Mapping[Way, str]  # REACHED or RECORDED
    cuts: Mapping[Way, str]  # the tool's name
    pills: Mapping[Key, tuple[str, str]]  # a leaf's kind, and the words
    failed: Key | None  # the box in which an error rose
    inside: Mapping[Key, tuple[str, ...]]  # what a reader sees when pointing at a box


def view(each: Keyed, end_of: Mapping[Any, Key], pills: Mapping[Key, Pill]) -> View:
    """One setting of a diagram.

    Args:
      each: The graph.
      end_of: The box of an operation by its key, the pill of a parameter by its name.
      pills: What stands at the bottom.
    """
    graph = each.graph
    states: dict[Key, str] = {}
    inside: dict[Key, list[str]] = {}
    flows: dict[Way, str] = {}
    cuts: dict[Way, str] = {}
    hidden: dict[Key, str] = {}  # boxes that hold a cut
    behind: dict[Key, str] = {}  # operations that stand after it, seen from the loss
    front = _front(graph)
    reached = {k for op, k in zip(graph.ops, each.keys, strict=True) if op.state == REACHED}
    lands = {key: _pill(pill, graph) for key, pill in pills.items()}
    empty = {key for key, (kind, _) in lands.items() if kind in ("none", "no slot")}
    for op, key in zip(graph.ops, each.keys, strict=True):
        if key not in end_of:
            continue
        box = end_of[key]
        states[box] = min(states.get(box, ABSENT), op.state, key=_BEST.index)
        steps = f": {', '.join(op.steps)}" if op.steps and op.state == REACHED else ""
        inside.setdefault(box, []).append(op.name + steps)
    at = graph.failure.op if graph.failure else None
    failed = None if at is None else end_of.get(each.keys[at])
    for i, (op, key) in reversed([*enumerate(zip(graph.ops, each.keys, strict=True))]):
        for target, flow, stopped in each.ways[key] if key in end_of else ():
            way = (end_of[key], end_of.get(target, end_of[key]))
            cut = (stopped if i in front else "") or behind.get(key, "")
            if way[0] == way[1]:
                if cut and states[way[0]] == REACHED:
                    behind |= {target: cut} if target not in reached else {}
                elif cut:
                    hidden[way[0]] = cut
            elif cut:
                cuts[way] = cut
            elif flow and (op.state == RECORDED or (op.state == REACHED and way[1] not in empty)):
                raised = graph.failure is not None and (way[0] == failed or way[1] in pills)
                state = RECORDED if raised else op.state
                flows[way] = min(flows.get(way, RECORDED), state, key=_BEST.index)
    for key, targets in each.ways.items():
        for target, flow, _ in targets if hidden and key in end_of else ():
            way = (end_of[key], end_of.get(target, end_of[key]))
            if way[0] != way[1] and way[1] in hidden and not flow and states[way[0]] == REACHED:
                cuts[way] = hidden[way[1]]
    cuts = {way: cut for way, cut in cuts.items() if way not in flows}
    return View(graph, states, flows, cuts, lands, failed, {k: tuple(v) for k, v in inside.items()})


def _front(graph: Graph) -> set[int]:
    """The operations before the first cut, seen from the loss or from what raised."""
    todo = [i for i, op in enumerate(graph.ops) if op.state == REACHED]
    at = graph.failure.op if graph.failure else None
    todo = todo or [len(graph.ops) - 1 if at is None else at]
    front: set[int] = set()
    while todo:
        i = todo.pop()
        if 0 <= i not in front:
            front.add(i)
            todo += [e.to for e in graph.ops[i].edges if isinstance(e.to, int) and not e.cut]
    return front


def _pill(pill: Pill, graph: Graph) -> tuple[str, str]:
    leaves = [graph.leaf(name) for name in pill.leaves]
    kind = leaves[0].kind
    if kind != "value":
        return kind, {"zero": "0", "none": "None"}.get(kind, kind)
    known = [leaf.grad for leaf in leaves if leaf.grad is not None]
    still = "still " if graph.failure and known else ""  # of an earlier backward
    return kind, still + (_number(math.hypot(*known)) if known else "")


def _number(x: float) -> str:
    return f"{x:.3g}".replace("e-0", "e-").replace("e+0", "e")
