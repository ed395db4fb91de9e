"""Route the edges of a picture: their curves, and points on them for labels and scissors."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxgrad.graph._keys import Key
from jaxgrad.graph._layout import GAP_X, GAP_Y, Rect
from jaxgrad.graph._sheet import number
from jaxgrad.graph._states import BoxEdge


Point = tuple[float, float]
SPREAD = 22.0  # between the arrowheads of two gradients that a badge receives


class Route(NamedTuple):
    """The curve of an edge; its arrowhead is at the last point and points at `angle`."""

    d: str
    angle: int
    points: tuple[Point, ...]

    def shifted(self, right: float, down: float) -> Route:
        """Return the straight line beside the end of a route, for a dead use of the same value."""
        (x1, y1), (x2, y2) = self.points[0], self.points[-1]
        if self.angle == -90:  # it comes down on a badge
            x1 = x2 = x2 + right
            y1 = max(y1, y2 - 40)
        else:
            y1 = y2 = y2 + down
        pen = _Pen(x1, y1)
        pen.to(x2, y2)
        return pen.route(x2, y2, self.angle)


class _Pen:
    """Write the path of an SVG and remember points on it."""

    def __init__(self, x: float, y: float):
        self.d = f"M{number(x)} {number(y)}"
        self.points: list[Point] = [(x, y)]

    def to(self, x: float, y: float) -> None:
        (a, b) = self.points[-1]
        steps = max(1, round((abs(x - a) + abs(y - b)) / 4))
        self.points += [(a + (x - a) * i / steps, b + (y - b) * i / steps) for i in _up_to(steps)]
        if y == b:
            self.d += f"H{number(x)}"
        else:
            self.d += f"V{number(y)}" if x == a else f"L{number(x)} {number(y)}"

    def curve(self, *controls: Point) -> None:
        """Draw a Bézier curve from here through its control points to the last one."""
        start = self.points[-1]
        for i in _up_to(8):
            level: list[Point] = [start, *controls]
            while len(level) > 1:
                level = [_between(a, b, i / 8) for a, b in itertools.pairwise(level)]
            self.points += level
        letter = "Q" if len(controls) == 2 else "C"
        self.d += letter + " ".join(f"{number(x)} {number(y)}" for x, y in controls)

    def route(self, x: float, y: float, angle: int) -> Route:
        return Route(self.d, angle, (*self.points, (x, y)))


def _up_to(steps: int) -> range:
    return range(1, steps + 1)


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def routes(
    edges: Sequence[BoxEdge],
    boxes: Mapping[Key, Rect],
    badges: Mapping[Key, Rect],
    tracks: Mapping[BoxEdge, float],
    ends: Mapping[Key, float],
) -> dict[BoxEdge, Route]:
    """Return the route of each edge.

    Args:
        edges: Pairs of a box and a box or a badge.
        boxes: The rectangles of the boxes.
        badges: The rectangles of the badges.
        tracks: The y of the edges that run above the boxes.
        ends: The right end of each box's lane.
    """
    found: dict[BoxEdge, Route] = {}
    for (source, target), x in _arrivals(edges, boxes, badges).items():
        found[source, target] = _down(boxes[source], badges[target], x, boxes.values())
    for edge in edges:
        source, target = edge
        if edge in tracks:
            found[edge] = _over(boxes, source, target, tracks[edge], ends[target])
        elif target in boxes:
            found[edge] = _back(boxes[source], boxes[target])
    return {edge: found[edge] for edge in edges}


def _arrivals(
    edges: Iterable[BoxEdge], boxes: Mapping[Key, Rect], badges: Mapping[Key, Rect]
) -> dict[BoxEdge, float]:
    """Return where each edge to a badge ends: side by side, in the order of their sources."""
    into = collections.defaultdict[Key, list[BoxEdge]](list)
    for edge in edges:
        if edge[1] in badges:
            into[edge[1]].append(edge)
    ends: dict[BoxEdge, float] = {}
    for target, incoming in into.items():
        incoming.sort(key=lambda edge: (boxes[edge[0]].middle[0], -boxes[edge[0]].y))
        step = min(SPREAD, (badges[target].w - 24) / len(incoming))
        for i, edge in enumerate(incoming):
            ends[edge] = badges[target].middle[0] + (i - (len(incoming) - 1) / 2) * step
    return ends


def _back(a: Rect, b: Rect) -> Route:
    (_, y1), (_, y2) = a.middle, b.middle
    if y1 == y2:
        pen = _Pen(a.x, y1)
        pen.to(b.right + 5, y1)
        return pen.route(b.right, y2, 0)
    if a.x - b.right > 4:
        near = min(GAP_X, a.x - b.right)  # turn beside the box in the main row
        bend = a.x - near * 0.4 if y1 < y2 else b.right + near * 0.62
        pen = _Pen(a.x, y1)
        pen.to(min(a.x, bend + 5), y1)
        pen.curve((bend, y1), (bend, (y1 + y2) / 2))
        pen.curve((bend, y2), (max(b.right + 5, bend - 6), y2))
        pen.to(b.right + 5, y2)
        return pen.route(b.right, y2, 0)
    x = min(a.x, b.x) + 12  # below or above each other
    top, bottom = (a.y + a.h, b.y) if y1 < y2 else (a.y, b.y + b.h)
    pen = _Pen(x, top)
    pen.to(x, bottom)
    return pen.route(x, bottom, -90 if y1 < y2 else 90)


def _over(boxes: Mapping[Key, Rect], source: Key, target: Key, y: float, end: float) -> Route:
    """Route an edge above all boxes; it comes down on its target, or right of its lane."""
    a, b = boxes[source], boxes[target]
    if a.y == b.y > min(o.y for o in boxes.values()) and b.right < a.x:
        return _between_rows(a, b)
    low = any(o.x < b.right - 8 < o.right and o.y < b.y for o in boxes.values())
    x1, x2 = a.x + 10, end + 6 if low else b.right - 8
    if any(o.x < x1 < o.right and o.y < a.y for o in boxes.values()):  # leave to the left
        x1 = a.x - 8
        pen = _Pen(a.x, a.middle[1])
        pen.curve((x1, a.middle[1]), (x1, a.middle[1] - 8))
    else:
        pen = _Pen(x1, a.y)
    pen.to(x1, y + 6)
    pen.curve((x1, y), (x1 - 6, y))
    pen.to(x2 + 6, y)
    pen.curve((x2, y), (x2, y + 6))
    if not low:
        pen.to(x2, b.y - 5)
        return pen.route(x2, b.y, -90)
    middle = b.middle[1]
    pen.to(x2, middle - 6)
    pen.curve((x2, middle), (x2 - 6, middle))
    pen.to(b.right + 5, middle)
    return pen.route(b.right, middle, 0)


def _between_rows(a: Rect, b: Rect) -> Route:
    """Route an edge of a lower row through the gap above that row."""
    x1, x2, y = a.x + 10, b.right - 8, a.y - GAP_Y / 2
    pen = _Pen(x1, a.y)
    pen.curve((x1, y), (x1 - 5, y))
    pen.to(x2 + 3, y)
    pen.curve((x2, y), (x2, b.y - 4))
    return pen.route(x2, b.y, -90)


def _down(a: Rect, b: Rect, x2: float, others: Iterable[Rect]) -> Route:
    """Route an edge to a badge, beside the boxes below its source."""
    x1, y1, y2 = a.x + min(12.0, a.w / 2), a.y + a.h, b.y
    if a.x + 5 <= x2 <= a.right - 5:
        x1 = x2
    elif b.x + 10 <= a.middle[0] <= b.right - 10 and x2 == b.middle[0]:
        x1 = x2 = a.middle[0]
    below = [box for box in others if box.x <= x1 <= box.right and y1 < box.y < y2]
    if below:
        x1, y1 = min(box.x for box in (a, *below)) - 8, a.middle[1]
        pen = _Pen(a.x, y1)
        pen.to(x1 + 6, y1)
        pen.curve((x1, y1), (x1, y1 + 8))
    else:
        pen = _Pen(x1, y1)
    middle = max(y1 + 6, y2 - 26)
    pen.to(x1, middle)
    if x1 == x2:
        pen.to(x1, y2 - 5)
    else:
        pen.curve((x1, y2 - 6), (x2, middle), (x2, y2 - 5))
    return pen.route(x2, y2, -90)
