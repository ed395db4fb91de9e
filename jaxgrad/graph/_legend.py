"""Explain the marks that a picture contains, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.graph._fold import ALL, counted
from jaxgrad.graph._keys import Key
from jaxgrad.graph._model import ABSENT
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._states import ZERO_OR_NONE, View
from jaxgrad.graph._words import status_of


NORM, NORM_OF_ALL = "∇ norm", "∇all norm over a module"
# Primitives whose names say nothing to a reader who knows torch.
MEANING = {"add_any": "sum of gradients", "select_n": "where"}


class Entry(NamedTuple):
    """A mark and its explanation; the mark is the CSS classes of a box, or "cut", "double"."""

    mark: str
    words: str
    pill: bool = False


def legend(panels: Sequence[Panel], *, compared: bool = False) -> list[Entry]:
    """List the entries of a picture's legend: marks that no word in the picture explains.

    A header, or a word beside a box, says that it is not reached or not recorded, a badge that a
    parameter has no gradient, a word beside the scissors what stops the gradient, and a box how
    many operations it stands for.

    Args:
        panels: The panels of the picture.
        compared: Whether a row is compared with another one, and no verdict beside it says so.
    """
    shown = [(panel, view) for panel in panels for view in panel.views.values()]
    states = {
        view.states.get(key, ABSENT)
        for panel, view in shown
        for key, box in panel.diagram.boxes.items()
        if not _labelled(panel, view, box.lane)
    }
    badges = {badge_kind(view, key) for panel, view in shown for key in panel.diagram.badges}
    boxes = [
        box
        for panel, view in shown
        for key, box in panel.diagram.boxes.items()
        if view.states.get(key, ABSENT) != ABSENT or key == view.failed
    ]
    elements = any(words.startswith("[") for _, view in shown for _, words in view.badges.values())
    merged = any(b.text == ALL for panel, _ in shown for b in panel.diagram.badges.values())
    used = [f"{name}: {MEANING[name]}" for name in MEANING if any(b.text == name for b in boxes)]
    folded = any(box.folded and box.text != counted(len(box.members)) for box in boxes)
    entries = [
        (True, Entry("", "→ forward, ← backward")),
        (ABSENT in states, Entry("none", "no backward step")),
        (folded, Entry("double", "several ops")),
        ("value" in badges, Entry("solid", NORM_OF_ALL if merged else NORM, pill=True)),
        (elements, Entry("", "∇w[i, j]: one element, as the norms are equal")),
        (compared, Entry("err", "differs", pill=True)),
        ("noted" in badges, Entry("full", "∇ not applied", pill=True)),
        ("no slot" in badges, Entry("", "no slot: not an argument of the derivative")),
        (
            any(words == ZERO_OR_NONE for _, view in shown for _, words in view.badges.values()),
            Entry("", f"{ZERO_OR_NONE}: jax.grad returns 0, jaxgrad.grad None"),
        ),
        (bool(used), Entry("", ", ".join(used))),
    ]
    return [entry for occurs, entry in entries if occurs]


def _labelled(panel: Panel, view: View, lane: int) -> bool:
    """Return whether the header of a lane says why its boxes have no gradient."""
    status, shape = status_of(panel.diagram, view, lane)
    return bool(status) and shape != "full"


def badge_kind(view: View, key: Key) -> str:
    """Return how a badge is drawn: value, noted, zero, none or no slot."""
    kind, _ = view.badges[key]
    leaves = view.leaves[key]
    noted = kind == "value" and any(view.graph.leaf(name).note for name in leaves)
    return "noted" if noted else kind
