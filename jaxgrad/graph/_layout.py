"""Where everything is: one place for each box, whichever setting is drawn.

Forward goes to the right, so that backward goes to the left. In a lane a box stands left of every
box that hands a gradient to it; what only changes the form of a parameter stands below the main
way, and the parameters stand at the bottom, under what feeds them.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._states import Way
from jaxgrad.graph._words import status_of


CHAR, BOX_H, GAP_X, GAP_Y, PAD, LANE_GAP = 6.35, 22.0, 16.0, 9.0, 9.0, 18.0
HEADER_H, PILL_H, TRACK = 30.0, 24.0, 9.0
PILL_CHAR = 6.7


class Rect(NamedTuple):
    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.w / 2, self.y + self.h / 2

    def meets(self, other: Rect) -> bool:
        across = self.x < other.right and other.x < self.right
        return across and self.y < other.y + other.h and other.y < self.y + self.h


class Layout(NamedTuple):
    """Rectangles from (0, 0) at the top left of the headers."""

    lanes: tuple[Rect, ...]
    boxes: Mapping[Any, Rect]
    pills: Mapping[Any, Rect]
    tracks: Mapping[Way, float]  # y of the ways that go above the boxes
    width: float
    height: float


def arrange(diagram: Diagram, places: Mapping[str, tuple[float, float]] | None = None) -> Layout:
    """Give every box and pill of a diagram its place.

    Args:
      diagram: What there is.
      places: Where each lane begins and how wide it is, by name, if that is settled.
    """
    columns = _columns(diagram)
    rows = _rows(diagram, columns)
    widths = {key: len(text) * PILL_CHAR + 15 for key, text in _widest_pills(diagram).items()}
    lanes, across = _across(diagram, columns, widths, places or {})
    tracks, count = _tracks(diagram, rows, across)
    top = HEADER_H + 14 + count * TRACK + 5 * bool(count)
    boxes = {
        key: Rect(x, top + rows[key] * (BOX_H + GAP_Y), width, BOX_H)
        for key, (x, width) in across.items()
    }
    bottom = top + (max(rows.values(), default=0) + 1) * (BOX_H + GAP_Y) + 10
    pills: dict[Any, Rect] = {}
    for lane, rect in enumerate(lanes):
        own = [key for key, pill in diagram.pills.items() if pill.lane == lane]
        pills |= _place_pills(_by_feeder(own, diagram, boxes), widths, rect, bottom)
    height = bottom + (PILL_H + PAD if pills else 0)
    lines = {way: HEADER_H + 15 + track * TRACK for way, track in tracks.items()}
    return Layout(tuple(lanes), boxes, pills, lines, lanes[-1].right, height)


def _across(
    diagram: Diagram,
    columns: Mapping[Any, int],
    pills: Mapping[Any, float],
    places: Mapping[str, tuple[float, float]],
) -> tuple[list[Rect], dict[Any, tuple[float, float]]]:
    """The lanes from left to right, and of each box where it begins and how wide it is."""
    lanes: list[Rect] = []
    across: dict[Any, tuple[float, float]] = {}
    x = 0.0
    for lane, name in enumerate(diagram.lanes):
        keys = [key for key, box in diagram.boxes.items() if box.lane == lane]
        widths = collections.defaultdict[int, float](float)
        for key in keys:
            widths[columns[key]] = max(widths[columns[key]], _box_width(diagram.boxes[key].text))
        inside = sum(widths.values()) + GAP_X * max(len(widths) - 1, 0)
        below = [pills[key] + 6 for key, pill in diagram.pills.items() if pill.lane == lane]
        said = max(len(status_of(diagram, view, lane)[0]) for view in diagram.views) * 5.6 - PAD
        width = max(inside, sum(below) - 6, len(name) * 7.6 + 20, said) + 2 * PAD
        x, width = places.get(name, (x, width))
        right = x + (width + inside) / 2
        for column in sorted(widths):
            across |= {
                key: (right - widths[column], widths[column])
                for key in keys
                if columns[key] == column
            }
            right -= widths[column] + GAP_X
        lanes.append(Rect(x, 0, width, HEADER_H))
        x += width + LANE_GAP
    return lanes, across


def _box_width(text: str) -> float:
    return BOX_H if text == "+" else max(34.0, len(text) * CHAR + 12)


def _columns(diagram: Diagram) -> dict[Any, int]:
    """How many boxes of its lane a gradient passes before this one, at most; 0 is rightmost."""
    above = collections.defaultdict(list)
    for source, target in diagram.ways:
        if target in diagram.boxes and diagram.boxes[source].lane == diagram.boxes[target].lane:
            above[target].append(source)
    columns: dict[Any, int] = {}

    def column(key: Any) -> int:
        if key not in columns:
            columns[key] = 0  # a way round in a circle ends here
            columns[key] = max((column(k) + 1 for k in above[key]), default=0)
        return columns[key]

    for key in diagram.boxes:
        column(key)
    return columns


def _rows(diagram: Diagram, columns: Mapping[Any, int]) -> dict[Any, int]:
    """Top row: the main way. What is beside it stands below, the first free place."""
    taken: set[tuple[int, int, int]] = set()
    rows: dict[Any, int] = {}
    for key, box in sorted(diagram.boxes.items(), key=lambda item: item[1].form):
        row = int(box.form)
        while (box.lane, columns[key], row) in taken:
            row += 1
        taken.add((box.lane, columns[key], row))
        rows[key] = row
    return rows


def _widest_pills(diagram: Diagram) -> dict[Any, str]:
    """The longest text of each pill in any setting."""
    texts: dict[Any, str] = {}
    for key, pill in diagram.pills.items():
        words = [view.pills[key][1] for view in diagram.views]
        texts[key] = max((f"∇{pill.text} {word}" for word in words), key=len)
    return texts


def _by_feeder(own: list[Any], diagram: Diagram, boxes: Mapping[Any, Rect]) -> dict[Any, float]:
    """The pills of a lane from left to right, each with the middle of what feeds it."""
    middles: dict[Any, list[float]] = {key: [] for key in own}
    for source, target in diagram.ways:
        if target in middles:
            middles[target].append(boxes[source].middle[0])
    wanted = {key: min(found, default=math.inf) for key, found in middles.items()}
    return dict(sorted(wanted.items(), key=lambda item: item[1]))


def _place_pills(
    wanted: Mapping[Any, float], widths: Mapping[Any, float], lane: Rect, y: float
) -> dict[Any, Rect]:
    """Each under what feeds it, as far as there is room."""
    rects: dict[Any, Rect] = {}
    room = lane.w - 2 * PAD - sum(widths[key] + 6 for key in wanted) + 6
    x = lane.x + PAD
    for key, feeder in wanted.items():
        middle = lane.middle[0] if math.isinf(feeder) else feeder
        shift = min(max(0.0, middle - widths[key] / 2 - x), room)
        room -= shift
        rects[key] = Rect(x + shift, y, widths[key], PILL_H)
        x += shift + widths[key] + 6
    return rects


def _tracks(
    diagram: Diagram, rows: Mapping[Any, int], xs: Mapping[Any, Any]
) -> tuple[dict[Way, int], int]:
    """Ways that would run through a box go above all of them, each on a track of its own."""
    tracks: dict[Way, int] = {}
    used: list[list[tuple[float, float]]] = []
    for source, target in diagram.ways:
        if target not in diagram.boxes or rows[source] != rows[target]:
            continue
        left, right = sum(xs[target]), xs[source][0]
        between = [
            key
            for key, (x, w) in xs.items()
            if rows[key] == rows[source] and left < x + w / 2 < right
        ]
        if not between:
            continue
        span = (left - 30, right + 30)
        free = (
            i for i, spans in enumerate(used) if all(b <= span[0] or a >= span[1] for a, b in spans)
        )
        track = next(free, len(used))
        used += [[]] if track == len(used) else []
        used[track].append(span)
        tracks[source, target] = len(used) and track
    return tracks, len(used)
