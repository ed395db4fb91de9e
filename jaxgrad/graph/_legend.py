"""Explain the marks that a picture contains, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxgrad.graph._fold import ALL, SHORT, Box
from jaxgrad.graph._keys import Key
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._states import ZERO_OR_NONE, View


class Entry(NamedTuple):
    """A mark and its explanation; the mark is the CSS classes of a box, or "cut", "double"."""

    mark: str
    words: str
    pill: bool = False


def legend(panels: Sequence[Panel], *, compared: bool = False) -> list[Entry]:
    """List the entries of a picture's legend.

    Args:
        panels: The panels of the picture.
        compared: Whether a row is compared with the one that it should equal.
    """
    shown = [(panel, view) for panel in panels for view in panel.views.values()]
    states = {state for _, view in shown for state in view.states.values()}
    badges = {badge_kind(view, key) for panel, view in shown for key in panel.diagram.badges}
    boxes = [
        box
        for panel, view in shown
        for key, box in panel.diagram.boxes.items()
        if view.states.get(key, ABSENT) != ABSENT or key == view.failed
    ]
    elements = any(words.startswith("[") for _, view in shown for _, words in view.badges.values())
    lanes = {lane for panel in panels for lane in panel.diagram.lanes}
    merged = any(b.text == ALL for panel, _ in shown for b in panel.diagram.badges.values())
    used = {name: text for box in boxes for name, text in SHORT.items() if _stands_for(box, name)}
    entries = [
        (True, Entry("", "headers run forward →, boxes below backward ←")),
        (len(lanes) > 1, Entry("", "one colour for each module")),
        (REACHED in states, Entry("full", "on the path of the loss")),
        (RECORDED in states, Entry("thin hollow", "recorded, but not reached")),
        (bool(blank := _absent(panels)), Entry("none", blank)),
        (any(box.folded for box in boxes), Entry("double", "several operations")),
        (any(view.cuts for _, view in shown), Entry("cut", "gradient stopped")),
        (any(view.failed for _, view in shown), Entry("err", "raises")),
        ("value" in badges, Entry("solid", "∇ norm of a gradient", pill=True)),
        (merged, Entry("", "∇all: norm over all parameters of a module")),
        (elements, Entry("", "∇w[i, j]: one element, where the norms are equal")),
        (compared, Entry("err", "∇ differs", pill=True)),
        ("noted" in badges, Entry("full", "∇ not applied", pill=True)),
        ("zero" in badges, Entry("thin hollow", "∇ of zeros", pill=True)),
        (bool(badges & {"none", "no slot"}), Entry("none", "no ∇", pill=True)),
        ("no slot" in badges, Entry("", "no slot: not an argument of the derivative")),
        (
            any(words == ZERO_OR_NONE for _, view in shown for _, words in view.badges.values()),
            Entry("", f"{ZERO_OR_NONE}: jax.grad returns 0, jaxgrad.grad None"),
        ),
        (
            bool(used),
            Entry("", ", ".join(f"{text}: {name}" for name, text in sorted(used.items()))),
        ),
    ]
    return [entry for occurs, entry in entries if occurs]


def _absent(panels: Iterable[Panel]) -> str:
    """Say where the operations of the dotted boxes do have a backward step, or return "".

    They may be computed here as well: torch computes what it does not record.
    """
    where: dict[str, None] = {}
    for panel in panels:
        views = panel.views.values()
        for key in panel.diagram.boxes:
            present = [view.states.get(key, ABSENT) != ABSENT for view in views]
            if any(present) and not all(present):
                where["in the other program" if len(present) == 2 else "in another row"] = None
            elif not any(present):
                where["without the stop"] = None
    return f"no backward step here, only {' or '.join(sorted(where))}" if where else ""


def _stands_for(box: Box, name: str) -> bool:
    return box.text == SHORT[name] and (name in box.members or box.folded)


def badge_kind(view: View, key: Key) -> str:
    """Return how a badge is drawn: value, noted, zero, none or no slot."""
    kind, _ = view.badges[key]
    leaves = view.leaves[key]
    noted = kind == "value" and any(view.graph.leaf(name).note for name in leaves)
    return "noted" if noted else kind
