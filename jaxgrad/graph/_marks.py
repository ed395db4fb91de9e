"""Find room for the red words and the scissors of a picture: they cover no box, edge or word."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._routes import Point


CHAR, LINE_H = 8.0, 13.0  # of a bold word of 12 pixels
_FAR = 120  # from a mark to its word
_BEHIND = 60.0  # an edge between a mark and its word is as bad as so many pixels
_OUTSIDE = 30.0  # a word that sticks out to the left of all boxes is as bad as so many pixels
_OWN = 6.0  # the marked edge itself runs at the height of its mark


class Marks:
    """The rectangles and edges of one drawing, and the words that were placed."""

    def __init__(self, bounds: Rect, taken: Iterable[Rect]):
        self.bounds = bounds
        self.taken = list(taken)
        self.left = min((rect.x for rect in self.taken), default=bounds.x)
        self.points: list[Point] = []
        self.strong: list[Point] = []  # those of the edges that are no outlines

    def place(self, anchors: Sequence[Point], words: str) -> Rect | None:
        """Reserve the free place for a word that is nearest to any anchor, or return None."""
        width = CHAR * len(words)
        best: tuple[float, Rect] | None = None
        for (x, y), down, right in itertools.product(
            anchors, range(-72, 73, 4), range(-_FAR, _FAR + 1, 6)
        ):
            spot = Rect(x + right - width / 2, y + down - LINE_H / 2, width, LINE_H)
            # the distance from the anchor to the nearest point of the word
            far = math.hypot(max(0.0, abs(right) - width / 2), max(0.0, abs(down) - LINE_H / 2))
            if (best is None or far < best[0]) and far >= 3 and self.free(spot):
                far += _BEHIND if self.behind_an_edge((x, y), spot) else 0.0
                far += _OUTSIDE if spot.x < self.left else 0.0
                best = (far, spot) if best is None or far < best[0] else best
        if best is None:
            return None
        self.taken.append(best[1])
        return best[1]

    def free(self, spot: Rect, *, near: float = 3.0) -> bool:
        """Return whether a rectangle is inside the drawing, and clear of all that is drawn."""
        b, room = self.bounds, Rect(spot.x - 2, spot.y - 1, spot.w + 4, spot.h + 2)
        inside = b.x <= spot.x and spot.right <= b.right
        inside = inside and b.y <= spot.y and spot.y + spot.h <= b.y + b.h
        return (
            inside
            and not any(room.meets(other) for other in self.taken)
            and not any(
                spot.x - gap < x < spot.right + gap and spot.y - gap < y < spot.y + spot.h + gap
                for gap, points in ((near, self.strong), (1.0, self.points))
                for x, y in points
            )
        )

    def behind_an_edge(self, anchor: Point, spot: Rect) -> bool:
        """Return whether an edge runs between a word and its anchor, and would seem to have it."""
        (x, y), (left, top) = anchor, (spot.x, spot.y)
        near = min(max(x, left), spot.right), min(max(y, top), top + spot.h)
        across, along = sorted((x, near[0])), sorted((y, near[1]))
        return any(
            across[0] - 8 <= a <= across[1] + 8  # the points of a curve are up to 15 apart
            and along[0] <= b <= along[1]
            and (abs(b - y) if near[1] != y else abs(a - x)) > _OWN
            for a, b in self.strong
        )

    def on(self, route: Sequence[Point], others: Iterable[Point]) -> Point:
        """Return the point of a dead edge for scissors: clear of boxes and of the other edges.

        Of several such points, the one nearest to the middle of the last part is chosen.
        """
        others = list(others)

        def clear(point: Point) -> float:
            x, y = point
            gaps = [math.dist(point, other) for other in others]
            gaps += [
                math.hypot(max(r.x - x, 0, x - r.right), max(r.y - y, 0, y - r.y - r.h))
                for r in self.taken
            ]
            return min([*gaps, 9.0])

        wanted = route[max(0, len(route) - 5)]
        return max(route, key=lambda point: (clear(point), -math.dist(point, wanted)))
