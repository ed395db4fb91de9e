"""Compute coordinates: every setting draws a box at the same place.

The forward pass runs to the right and the backward pass to the left. Within a lane, a box is left
of every box that passes a gradient to it. Transposes and casts of a parameter are below the
main row, and parameters are at the bottom, under the boxes that pass them a gradient.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxgrad.graph._flows import arcs, flows
from jaxgrad.graph._fold import Diagram
from jaxgrad.graph._grid import grid
from jaxgrad.graph._model import REACHED
from jaxgrad.graph._states import BoxEdge, View, badge_text
from jaxgrad.graph._words import status_of


CHAR, BOX_H, GAP_X, GAP_Y, PAD, LANE_GAP = 7.25, 24.0, 19.0, 10.0, 8.0, 19.0
HEADER_H, BADGE_H, TRACK, ARC = 36.0, 26.0, 9.0, 8.0
BADGE_CHAR = 7.7
WORD = 16.0  # for a red word above the boxes


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
    """Rectangles of a diagram, with (0, 0) at the top left corner of the headers."""

    lanes: tuple[Rect, ...]
    boxes: Mapping[Any, Rect]
    badges: Mapping[Any, Rect]
    tracks: Mapping[BoxEdge, float]  # y of the edges routed above the boxes
    width: float
    height: float


def arrange(
    diagram: Diagram,
    places: Mapping[str, tuple[float, float]] | None = None,
    *,
    compared: bool = False,
) -> Layout:
    """Compute the rectangle of every lane, box and badge of a diagram.

    Args:
        diagram: The boxes, badges and edges to place.
        places: Maps a lane's name to its left edge and width, to align several diagrams.
        compared: Whether a setting is compared with another one, so that words are among the boxes.
    """
    columns, rows = grid(diagram)
    widths = {key: len(text) * BADGE_CHAR + 15 for key, text in _widest_badges(diagram).items()}
    lanes, across = _across(diagram, columns, widths, places or {})
    tracks, count = _tracks(diagram, rows, across)
    levels = [max(arcs(flows(diagram, view)).values(), default=-1) for view in diagram.views]
    rise = ARC * (max(levels) + 1) + 4 * (max(levels) >= 0)  # of the arrows above the headers
    lanes = [lane._replace(y=rise) for lane in lanes]
    top = rise + HEADER_H + 14 + count * TRACK + 5 * bool(count)
    top += WORD if compared or any(_cut_inside(diagram, view) for view in diagram.views) else 0
    boxes = {
        key: Rect(x, top + rows[key] * (BOX_H + GAP_Y), width, BOX_H)
        for key, (x, width) in across.items()
    }
    bottom = top + (max(rows.values(), default=0) + 1) * (BOX_H + GAP_Y) + 10
    ends = [target for view in diagram.views for _, target in (*view.cuts, *view.stubs)]
    bottom += 12 if any(target in diagram.badges for target in ends) else 0  # for scissors
    badges: dict[Any, Rect] = {}
    for lane, rect in enumerate(lanes):
        own = [key for key, badge in diagram.badges.items() if badge.lane == lane]
        badges |= _place_badges(_by_feeder(own, diagram, boxes), widths, rect, bottom)
    height = bottom + (BADGE_H + PAD if badges else 0)
    lines = {edge: rise + HEADER_H + 15 + track * TRACK for edge, track in tracks.items()}
    return Layout(tuple(lanes), boxes, badges, lines, lanes[-1].right, height)


def _cut_inside(diagram: Diagram, view: View) -> bool:
    """Return whether the name of a stop is among the boxes: a gradient passes beside the stop."""

    def lane(key: Any) -> int:
        return (diagram.boxes.get(key) or diagram.badges[key]).lane

    passed = {(lane(a), lane(b)) for (a, b), state in view.flows.items() if state == REACHED}
    return any(
        target in diagram.boxes
        and (lane(source) == lane(target) or any(b < lane(source) <= a for a, b in passed))
        for source, target in (*view.cuts, *view.stubs)
    )


def _across(
    diagram: Diagram,
    columns: Mapping[Any, int],
    badges: Mapping[Any, float],
    places: Mapping[str, tuple[float, float]],
) -> tuple[list[Rect], dict[Any, tuple[float, float]]]:
    """Return the lanes from left to right, and the left edge and width of each box."""
    lanes: list[Rect] = []
    across: dict[Any, tuple[float, float]] = {}
    x = 0.0
    for lane, name in enumerate(diagram.lanes):
        keys = [key for key, box in diagram.boxes.items() if box.lane == lane]
        widths = collections.defaultdict[int, float](float)
        for key in keys:
            widths[columns[key]] = max(widths[columns[key]], _box_width(diagram.boxes[key].text))
        inside = sum(widths.values()) + GAP_X * max(len(widths) - 1, 0)
        below = [badges[key] + 6 for key, badge in diagram.badges.items() if badge.lane == lane]
        status = max(len(status_of(diagram, view, lane)[0]) for view in diagram.views) * 6.5 - PAD
        width = max(inside, sum(below) - 6, len(name) * 8.6 + 20, status) + 2 * PAD
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
    return max(36.0, len(text) * CHAR + 12)


def _widest_badges(diagram: Diagram) -> dict[Any, str]:
    """Return the longest text of each badge over all settings."""
    texts: dict[Any, str] = {}
    for key, badge in diagram.badges.items():
        words = [view.badges[key][1] for view in diagram.views]
        texts[key] = max((badge_text(badge, word) for word in words), key=len)
    return texts


def _by_feeder(own: list[Any], diagram: Diagram, boxes: Mapping[Any, Rect]) -> dict[Any, float]:
    """Order a lane's badges by the x of the boxes that pass them a gradient."""
    middles: dict[Any, list[float]] = {key: [] for key in own}
    for source, target in diagram.edges:
        if target in middles:
            middles[target].append(boxes[source].middle[0])
    wanted = {key: min(xs, default=math.inf) for key, xs in middles.items()}
    return dict(sorted(wanted.items(), key=lambda item: item[1]))


def _place_badges(
    wanted: Mapping[Any, float], widths: Mapping[Any, float], lane: Rect, y: float
) -> dict[Any, Rect]:
    """Place each badge under the box that passes it a gradient, as far as space allows."""
    rects: dict[Any, Rect] = {}
    room = lane.w - 2 * PAD - sum(widths[key] + 6 for key in wanted) + 6
    x = lane.x + PAD
    for key, feeder in wanted.items():
        middle = lane.middle[0] if math.isinf(feeder) else feeder
        shift = min(max(0.0, middle - widths[key] / 2 - x), room)
        room -= shift
        rects[key] = Rect(x + shift, y, widths[key], BADGE_H)
        x += shift + widths[key] + 6
    return rects


def _tracks(
    diagram: Diagram, rows: Mapping[Any, int], xs: Mapping[Any, Any]
) -> tuple[dict[BoxEdge, int], int]:
    """Route edges that would cross a box above all boxes, on tracks that do not overlap."""
    tracks: dict[BoxEdge, int] = {}
    used: list[list[tuple[float, float]]] = []
    for source, target in diagram.edges:
        if target not in diagram.boxes:
            continue
        row = max(rows[source], rows[target])
        left, right = sum(xs[target]), xs[source][0]
        between = [
            key for key, (x, w) in xs.items() if rows[key] == row and left < x + w / 2 < right
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
