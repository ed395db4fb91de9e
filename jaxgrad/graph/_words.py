"""What there is to see of a setting, in words: of each lane, and of all of it."""

from __future__ import annotations

from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED
from jaxgrad.graph._states import View


def describe(diagram: Diagram, view: View) -> str:
    """A setting in words: the lanes, the cuts, what lands where, the error."""
    parts = [
        f"{name} {status_of(diagram, view, lane)[0] or 'is on the path of the loss'}"
        for lane, name in enumerate(diagram.lanes)
    ]
    parts += [f"gradient stopped by {cut}" for cut in sorted(set(view.cuts.values()))]
    for key, pill in diagram.pills.items():
        parts.append(f"{diagram.lanes[pill.lane]} {pill.text} {view.pills[key][1]}")
    if view.graph.failure:
        parts.append(f"raises {view.graph.failure.text}")
    return "; ".join(parts)


def status_of(diagram: Diagram, view: View, lane: int) -> tuple[str, str]:
    """What a reader should know of a lane, and the shape of its header."""
    keys = [key for key, box in diagram.boxes.items() if box.lane == lane]
    pills = [key for key, pill in diagram.pills.items() if pill.lane == lane]
    states = {view.states.get(key, ABSENT) for key in keys}
    if REACHED in states:
        leaves = [name for key in pills for name in diagram.pills[key].leaves]
        notes = {view.graph.leaf(name).note for name in leaves}
        if pills and all(view.pills[key][0] in ("none", "no slot") for key in pills):
            notes = {"passes it on"} if _passes(diagram, view, lane) else notes
        return ("".join(notes) if len(notes) == 1 else ""), "full"
    kinds = {view.pills[key][0] for key in pills}
    if kinds & {"value", "zero"} and view.graph.failure is None:  # from a box of another lane
        return "", "full"
    if not keys:
        return ("not differentiated" if kinds == {"no slot"} else "not used"), "none"
    if RECORDED in states:
        return "recorded, not reached", "thin hollow"
    if view.failed is not None and diagram.boxes[view.failed].lane <= lane:
        return ("raises" if diagram.boxes[view.failed].lane == lane else "never ran"), "none"
    return ("not recorded" if view.graph.framework == "torch" else "not in the VJP"), "none"


def _passes(diagram: Diagram, view: View, lane: int) -> bool:
    """Whether a gradient goes on from a lane to an earlier one."""
    return any(
        state == REACHED
        and diagram.boxes[source].lane == lane
        and target in diagram.boxes
        and diagram.boxes[target].lane < lane
        for (source, target), state in view.flows.items()
    )
