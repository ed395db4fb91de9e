"""Explain the marks that a picture contains, and no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from jaxgrad.graph._fold import SHORT, Box
from jaxgrad.graph._keys import Key
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._states import ZERO_OR_NONE, View


class Entry(NamedTuple):
    """A mark and its explanation; the mark is the CSS classes of a box, or "cut", "double"."""

    mark: str
    words: str
    pill: bool = False


def legend(panels: Iterable[Panel]) -> list[Entry]:
    """List the entries of a picture's legend."""
    shown = [(panel, view) for panel in panels for view in panel.views.values()]
    states = {state for _, view in shown for state in view.states.values()}
    badges = {badge_kind(view, key) for panel, view in shown for key in panel.diagram.badges}
    boxes = [
        box
        for panel, view in shown
        for key, box in panel.diagram.boxes.items()
        if view.states.get(key, ABSENT) != ABSENT or key == view.failed
    ]
    blank = any(
        view.states.get(key, ABSENT) == ABSENT
        for panel, view in shown
        for key in panel.diagram.boxes
    )
    used = {name: text for box in boxes for name, text in SHORT.items() if _stands_for(box, name)}
    entries = [
        (True, Entry("", "headers: forward →, boxes: backward ←")),
        (REACHED in states, Entry("full", "on the path of the loss")),
        (RECORDED in states, Entry("thin hollow", "recorded, not reached")),
        (blank, Entry("none", "absent")),
        (any(box.folded for box in boxes), Entry("double", "a function or several operations")),
        (any(view.cuts for _, view in shown), Entry("cut", "gradient stopped")),
        (any(view.failed for _, view in shown), Entry("err", "raises")),
        ("value" in badges, Entry("solid", "∇ norm of a gradient", pill=True)),
        ("noted" in badges, Entry("full", "∇ not applied", pill=True)),
        ("zero" in badges, Entry("thin hollow", "∇ of zeros", pill=True)),
        (bool(badges & {"none", "no slot"}), Entry("none", "no ∇", pill=True)),
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


def _stands_for(box: Box, name: str) -> bool:
    return box.text == SHORT[name] and name in box.members


def badge_kind(view: View, key: Key) -> str:
    """Return how a badge is drawn: value, noted, zero, none or no slot."""
    kind, _ = view.badges[key]
    leaves = view.leaves[key]
    noted = kind == "value" and any(view.graph.leaf(name).note for name in leaves)
    return "noted" if noted else kind
