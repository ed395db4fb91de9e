"""Describe a setting in words: the status of each lane, and a sentence for screen readers."""

from __future__ import annotations

from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED, Edge
from jaxgrad.graph._states import View


def describe(diagram: Diagram, view: View) -> str:
    """Describe a setting: its lanes, cuts, gradients and error."""
    parts = [
        f"{name} {status_of(diagram, view, lane)[0] or 'is on the path of the loss'}"
        for lane, name in enumerate(diagram.lanes)
    ]
    parts += [f"gradient stopped by {cut}" for cut in sorted(set(view.cuts.values()))]
    for key, badge in diagram.badges.items():
        parts.append(f"{diagram.lanes[badge.lane]} {badge.text} {view.badges[key][1]}")
    if view.graph.failure:
        parts.append(f"raises {view.graph.failure.text}")
    return "; ".join(parts)


def status_of(diagram: Diagram, view: View, lane: int) -> tuple[str, str]:
    """Return a lane's status line and the shape of its header."""
    keys = [key for key, box in diagram.boxes.items() if box.lane == lane]
    badges = [key for key, badge in diagram.badges.items() if badge.lane == lane]
    states = {view.states.get(key, ABSENT) for key in keys}
    if REACHED in states:
        leaves = [name for key in badges for name in diagram.badges[key].leaves]
        notes = {view.graph.leaf(name).note for name in leaves}
        if badges and all(view.badges[key][0] in ("none", "no slot") for key in badges):
            notes = {"passes it on"} if _passes(diagram, view, lane) else notes
        return ("".join(notes) if len(notes) == 1 else ""), "full"
    kinds = {view.badges[key][0] for key in badges}
    read = {edge.to for op in view.graph.ops for edge in op.edges}
    if kinds & {"value", "zero"} and view.graph.failure is None:  # computed by another lane's box
        return "", "full"
    if not keys and not any(name in read for key in badges for name in view.leaves[key]):
        return ("not differentiated" if kinds == {"no slot"} else "no path to the loss"), "none"
    carried = {e.to for op in view.graph.ops if op.state != ABSENT for e in op.edges if _carries(e)}
    if not keys and any(name in carried for key in badges for name in view.leaves[key]):
        return "", "full"  # another lane's box computes its gradient
    if RECORDED in states:
        return "recorded, not reached", "thin hollow"
    if view.failed is not None and diagram.boxes[view.failed].lane <= lane:
        return ("raises" if diagram.boxes[view.failed].lane == lane else "never ran"), "none"
    return ("not recorded" if view.graph.framework == "torch" else "not in the VJP"), "none"


def _carries(edge: Edge) -> bool:
    """Return whether a gradient can pass along an edge."""
    return edge.flows and not edge.cut


def _passes(diagram: Diagram, view: View, lane: int) -> bool:
    """Return whether a gradient continues from a lane to an earlier one."""
    return any(
        state == REACHED
        and diagram.boxes[source].lane == lane
        and target in diagram.boxes
        and diagram.boxes[target].lane < lane
        for (source, target), state in view.flows.items()
    )
