"""Explain the marks that a picture contains, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxgrad.graph._fold import ALL, SHORT, Box, counted
from jaxgrad.graph._keys import Key
from jaxgrad.graph._model import ABSENT
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._states import ZERO_OR_NONE, View
from jaxgrad.graph._words import status_of


NORM, NORM_OF_ALL = "∇ norm of a gradient", "∇all norm over all parameters of a module"
# What a primitive does, in the words of a reader who knows torch.
MEANING = {
    "add_any": "sum of two gradients",
    "broadcast_in_dim": "a value copied into a larger shape",
    "convert_element_type": "change of dtype",
    "dot_general": "matrix product",
    "select_n": "where",
}


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
        compared: Whether a row is compared with the one that it should equal.
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
    used = {text: name for name, text in SHORT.items() if any(_stands_for(b, name) for b in boxes)}
    used |= {name: "" for name in MEANING if any(box.text == name for box in boxes)}
    folded = any(box.folded and box.text != counted(len(box.members)) for box in boxes)
    entries = [
        (True, Entry("", "headers run forward →, boxes below backward ←")),
        (ABSENT in states, Entry("none", "no backward step here")),
        (folded, Entry("double", "several operations")),
        ("value" in badges, Entry("solid", NORM_OF_ALL if merged else NORM, pill=True)),
        (elements, Entry("", "∇w[i, j]: one element, where the norms are equal")),
        (compared, Entry("err", "∇ differs", pill=True)),
        ("noted" in badges, Entry("full", "∇ not applied", pill=True)),
        ("no slot" in badges, Entry("", "no slot: not an argument of the derivative")),
        (
            any(words == ZERO_OR_NONE for _, view in shown for _, words in view.badges.values()),
            Entry("", f"{ZERO_OR_NONE}: jax.grad returns 0, jaxgrad.grad None"),
        ),
        (bool(used), Entry("", ", ".join(_meaning(*item) for item in sorted(used.items())))),
    ]
    return [entry for occurs, entry in entries if occurs]


def _labelled(panel: Panel, view: View, lane: int) -> bool:
    """Return whether the header of a lane says why its boxes have no gradient."""
    status, shape = status_of(panel.diagram, view, lane)
    return bool(status) and shape != "full"


def _meaning(text: str, name: str) -> str:
    """Explain a word in a box: the name that it stands for, or the meaning of a primitive."""
    return f"{text}: {MEANING.get(name or text) or name}"


def _stands_for(box: Box, name: str) -> bool:
    return box.text == SHORT[name] and (name in box.members or box.folded)


def badge_kind(view: View, key: Key) -> str:
    """Return how a badge is drawn: value, noted, zero, none or no slot."""
    kind, _ = view.badges[key]
    leaves = view.leaves[key]
    noted = kind == "value" and any(view.graph.leaf(name).note for name in leaves)
    return "noted" if noted else kind
