"""Evaluate one setting of a diagram: the states of its boxes and edges, and its gradients."""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxgrad.graph._keys import Indexed, Key
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED, Graph, Op


BoxEdge = tuple[Key, Key]  # from a box to another box or to a badge
ZERO_OR_NONE = "0/None"  # jax.grad returns 0 where jaxgrad.grad returns None
_BEST = (REACHED, RECORDED, ABSENT)


class ParamBadge(NamedTuple):
    """A pill-shaped label for one parameter, or for several of a lane."""

    lane: int
    text: str
    leaves: tuple[str, ...]


class View(NamedTuple):
    """One setting of a diagram."""

    graph: Graph
    states: Mapping[Key, str]  # the state of each box
    flows: Mapping[BoxEdge, str]  # REACHED or RECORDED
    cuts: Mapping[BoxEdge, str]  # the function that stops the gradient: detach, stop_gradient
    stubs: Mapping[BoxEdge, str]  # cut for one use of a value, open for another
    badges: Mapping[Key, tuple[str, str]]  # the kind of a leaf's gradient, and its label
    failed: Key | None  # the box that raised
    inside: Mapping[Key, tuple[str, ...]]  # the tooltip of a box: its operations
    leaves: Mapping[Key, tuple[str, ...]]  # the parameters of each badge
    computed: Mapping[Key, int]  # the number of a box's operations that are in the graph


def view(each: Indexed, end_of: Mapping[Any, Key], badges: Mapping[Key, ParamBadge]) -> View:
    """Evaluate one setting of a diagram.

    Args:
        each: The setting's graph.
        end_of: Maps an operation's key to its box and a parameter's name to its badge.
        badges: The badges of the diagram.
    """
    graph = each.graph
    states: dict[Key, str] = {}
    inside: dict[Key, list[str]] = {}
    computed: collections.Counter[Key] = collections.Counter()
    flows: dict[BoxEdge, str] = {}
    cuts: dict[BoxEdge, str] = {}
    hidden: dict[Key, str] = {}  # boxes that contain a cut
    behind: dict[Key, str] = {}  # operations behind that cut, seen from the loss
    front = _front(graph)
    reached = {k for op, k in zip(graph.ops, each.keys, strict=True) if op.state == REACHED}
    labels = {key: _badge(badge, graph) for key, badge in badges.items()}
    empty = {key for key, (kind, _) in labels.items() if kind in ("none", "no slot")}
    for op, key in zip(graph.ops, each.keys, strict=True):
        if key not in end_of:
            continue
        box = end_of[key]
        states[box] = min(states.get(box, ABSENT), op.state, key=_BEST.index)
        inside.setdefault(box, []).append(_about(op))
        computed[box] += op.state != ABSENT
    at = graph.failure.op if graph.failure else None
    failed = None if at is None else end_of.get(each.keys[at])
    for i, (op, key) in reversed([*enumerate(zip(graph.ops, each.keys, strict=True))]):
        for target, flow, stopped in each.edges[key] if key in end_of else ():
            edge = (end_of[key], end_of.get(target, end_of[key]))
            cut = (stopped if i in front else "") or behind.get(key, "")
            if edge[0] == edge[1]:
                if cut and states[edge[0]] == REACHED:
                    behind |= {target: cut} if target not in reached else {}
                elif cut:
                    hidden[edge[0]] = cut
            elif cut:
                cuts[edge] = cut
            elif flow and (op.state == RECORDED or (op.state == REACHED and edge[1] not in empty)):
                raised = graph.failure is not None and (edge[0] == failed or edge[1] in badges)
                state = RECORDED if raised else op.state
                flows[edge] = min(flows.get(edge, RECORDED), state, key=_BEST.index)
    for key in (each.keys[i] for i in front if hidden):
        for target, *_ in each.edges[key] if key in end_of else ():
            edge = (end_of[key], end_of.get(target, end_of[key]))
            if edge[0] != edge[1] and edge[1] in hidden:
                cuts[edge] = hidden[edge[1]]
    stubs = {edge: cut for edge, cut in cuts.items() if flows.get(edge) == REACHED}
    cuts = {edge: cut for edge, cut in cuts.items() if edge not in flows}
    tooltips = {box: tuple(lines) for box, lines in inside.items()}
    names = {key: badge.leaves for key, badge in badges.items()}
    return View(graph, states, flows, cuts, stubs, labels, failed, tooltips, names, computed)


def _about(op: Op) -> str:
    """Describe an operation in a tooltip: its equations and the forward values that they read."""
    if op.state == ABSENT:
        return op.name
    saved = ", ".join(dict.fromkeys(map(str, op.saved)))
    of = f", in the VJP of {op.of}" if op.of not in ("", op.name) else ""
    if op.of == op.name:
        of = ", in the VJP"
    counts = collections.Counter(op.steps)
    steps = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.items())
    verb = "reads" if op.of else "saved"
    return op.name + of + (f": {steps}" if steps else "") + (f"; {verb} {saved}" if saved else "")


def _front(graph: Graph) -> set[int]:
    """Return the operations before the first cut, seen from the loss or from the error."""
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


def badge_text(badge: ParamBadge, words: str) -> str:
    """Return the label of a badge; a single element follows the parameter's name at once."""
    return f"∇{badge.text}{'' if words.startswith('[') else ' '}{words}"


def _badge(badge: ParamBadge, graph: Graph) -> tuple[str, str]:
    leaves = [graph.leaf(name) for name in badge.leaves]
    kind = leaves[0].kind
    if kind == "value" and len(leaves) == 1 and leaves[0].element:
        return kind, leaves[0].element
    if kind != "value":
        absent = "None" if graph.framework == "torch" else ZERO_OR_NONE
        return kind, {"zero": "0", "none": absent}.get(kind, kind)
    known = [leaf.grad for leaf in leaves if leaf.grad is not None]
    still = "still " if graph.failure and known else ""  # left by an earlier backward
    norm = f"{math.hypot(*known):.3g}".replace("e-0", "e-").replace("e+0", "e") if known else ""
    return kind, still + norm
