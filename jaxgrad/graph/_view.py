"""Draw one setting of one framework."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from jaxgrad.graph._differences import MISSING, WRONG, differing
from jaxgrad.graph._flows import arcs, flows
from jaxgrad.graph._fold import counted
from jaxgrad.graph._keys import Key
from jaxgrad.graph._layout import ARC, LANE_GAP, Rect
from jaxgrad.graph._legend import badge_kind
from jaxgrad.graph._marks import Marks
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._routes import Point, Route, routes
from jaxgrad.graph._sheet import Sheet, number
from jaxgrad.graph._states import BoxEdge, View, badge_text
from jaxgrad.graph._words import status_of


ERROR_H = 56.0
_BOX = {REACHED: "full", RECORDED: "thin hollow", ABSENT: "none"}
_EDGE = {REACHED: "w", RECORDED: "rec"}
_DIFFERENT = {WRONG: "bad", MISSING: "gone"}
_BADGE = {"value": ("solid", "on b"), "zero": ("thin hollow", "t"), "noted": ("full", "t")}
NOT_STOPPED, NOT_REACHED = "not stopped", "not reached"
_LISTED = 12  # operations in a box's tooltip


class Drawing:
    """One setting, drawn with the top left corner of its headers at (x, y)."""

    def __init__(
        self,
        sheet: Sheet,
        panel: Panel,
        view: View,
        hues: Mapping[str, int],
        x: float,
        y: float,
        expected: View | None = None,
    ):
        self.sheet, self.view, self.diagram, self.hues = sheet, view, panel.diagram, hues
        self.x, self.y, self.width, self.height = x, y, panel.width, panel.layout.height
        layout = panel.layout
        self.lanes = list(map(self.shifted, layout.lanes))
        self.boxes = {key: self.shifted(rect) for key, rect in layout.boxes.items()}
        self.badges = {key: self.shifted(rect) for key, rect in layout.badges.items()}
        self.tracks = {edge: y + track for edge, track in layout.tracks.items()}
        self.cut_edges = self.one_of_each_cut()
        ends = {key: self.lanes[box.lane].right for key, box in self.diagram.boxes.items()}
        self.routes = routes(self.diagram.edges, self.boxes, self.badges, self.tracks, ends)
        bounds = Rect(x - 12, y - 20, self.width + 40, self.height + 30)
        self.marks = Marks(bounds, [*self.boxes.values(), *self.badges.values(), *self.lanes])
        self.marks.points = [p for route in self.routes.values() for p in route.points]
        self.wrong = {} if expected is None else differing(panel.diagram, view, expected)
        self.expected = expected
        drawn = {*view.flows, *self.wrong, *self.cut_edges}
        strong = [route for edge, route in self.routes.items() if edge in drawn]
        self.marks.strong = [point for route in strong for point in route.points]

    def shifted(self, rect: Rect) -> Rect:
        return rect._replace(x=rect.x + self.x, y=rect.y + self.y)

    def hue(self, lane: int) -> str:
        return f"h{self.hues[self.diagram.lanes[lane]]}"

    def draw(self) -> None:
        for lane in range(len(self.lanes)):
            self.lane(lane)
        self.headers()
        for edge in sorted(self.diagram.edges, key=self.view.cuts.__contains__):
            self.edge(edge)
        for key in self.boxes:
            self.box(key)
        for key in self.badges:
            self.badge(key)
        self.cuts()
        self.differences()
        self.not_reached()
        self.failure()

    def lane(self, lane: int) -> None:
        head = self.lanes[lane]
        status, shape = status_of(self.diagram, self.view, lane)
        self.sheet.group(self.hue(lane))
        self.sheet.rect(head._replace(h=self.y + self.height - head.y), "lane", 6)
        self.sheet.rect(head, shape, 5)
        self.sheet.end()
        x, y = head.middle
        name = self.diagram.lanes[lane]
        self.sheet.text(x, y + (-3 if status else 4.7), name, "t b mid")
        self.sheet.text(x, y + 11.5, status, "dim i s mid")

    def headers(self) -> None:
        """Draw an arrow between two headers if values of the one are used in the other."""
        pairs = flows(self.diagram, self.view)
        heights, n = arcs(pairs), number
        for before, lane in pairs:
            start, end = self.lanes[before], self.lanes[lane]
            if lane == before + 1:
                y = end.middle[1]
                self.sheet.arrow(f"M{n(start.right + 2)} {n(y)}H{n(end.x - 6)}", end.x - 1, y, 180)
                continue
            x1, y = start.right - 14, start.y
            x2, top = (
                end.x + 14 + ARC * heights[before, lane],
                y - ARC * (heights[before, lane] + 1),
            )
            d = f"M{n(x1)} {n(y)}V{n(top + 5)}Q{n(x1)} {n(top)} {n(x1 + 5)} {n(top)}H{n(x2 - 5)}"
            d += f"Q{n(x2)} {n(top)} {n(x2)} {n(top + 5)}V{n(y - 5)}"
            self.sheet.arrow(d, x2, y, -90)
            self.marks.points += [(x, top) for x in _every(x1, x2)]
            self.marks.points += [(x, top + 5 * i) for x in (x1, x2) for i in range(1, 5)]

    def edge(self, edge: BoxEdge) -> None:
        kind = _EDGE.get(self.view.flows.get(edge, ""), "ghost")
        kind = "cut" if edge in self.cut_edges else kind
        self.route(self.routes[edge], _DIFFERENT.get(self.wrong.get(edge, ""), kind))

    def route(self, route: Route, kind: str) -> None:
        self.sheet.arrow(route.d, *route.points[-1], route.angle, kind)

    def box(self, key: Key) -> None:
        rect, box = self.boxes[key], self.diagram.boxes[key]
        state = self.view.states.get(key, ABSENT)
        inside = self.view.inside.get(key, box.members)
        more = [f"… and {len(inside) - _LISTED} more"] if len(inside) > _LISTED else []
        about = [f"{self.diagram.lanes[box.lane]}: {state}", *inside[:_LISTED], *more]
        radius = 4
        self.sheet.group(self.hue(box.lane), "\n".join(about))
        self.sheet.rect(rect, _BOX[state], radius)
        if box.folded and state != ABSENT:
            inner = Rect(rect.x + 2.5, rect.y + 2.5, rect.w - 5, rect.h - 5)
            self.sheet.rect(inner, "thin clear", 2.5)
        self.sheet.end()
        if key == self.view.failed:
            self.sheet.rect(rect, "err", radius)
        x, y = rect.middle
        count = self.view.computed.get(key, 0) or len(box.members)  # an outline: of the others
        text = counted(count) if box.text == counted(len(box.members)) else box.text
        self.sheet.text(x, y + 4.2, text, f"{'t' if state == REACHED else 'dim'} m mid")

    def badge(self, key: Key) -> None:
        rect, badge = self.badges[key], self.diagram.badges[key]
        words = self.view.badges[key][1]
        shape, tone = _BADGE.get(badge_kind(self.view, key), ("none", "dim"))
        self.sheet.group(self.hue(badge.lane), ", ".join(badge.leaves[:_LISTED]))
        self.sheet.rect(rect, shape, rect.h / 2)
        self.sheet.end()
        x, y = rect.middle
        self.sheet.text(x, y + 4.2, badge_text(badge, words), f"{tone} s mid")

    def cuts(self) -> None:
        """Draw a line across the picture where no gradient passes, scissors on other cut edges."""
        lines: dict[int, str] = {}
        others: list[tuple[Route, str]] = []
        for edge, cut in self.cut_edges.items():
            lane = self.diagram.boxes[edge[0]].lane
            if self.lane_of(edge[1]) < lane and not self.crossed(lane):
                lines[lane] = cut
            else:
                others.append((self.routes[edge], cut))
        for lane, cut in lines.items():
            x = self.lanes[lane].x - LANE_GAP / 2
            self.sheet.path(f"M{number(x)} {number(self.y - 2)}v{number(self.height + 2)}", "cut")
            self.marks.taken.append(Rect(x - 2, self.y - 2, 4, self.height + 2))
            self.scissors((x, self.y - 8), cut)
        for edge, cut in self.view.stubs.items():
            if not any(self.diagram.boxes[key].folded for key in edge if key in self.boxes):
                stub = self.routes[edge].shifted(18, 9)
                self.sheet.path(stub.d, "cut")
                others.append((stub, cut))
        for route, cut in others:
            rest = [
                point
                for edge, other in self.routes.items()
                if edge not in self.cut_edges
                for point in other.points
            ]
            self.scissors(self.marks.on(route.points, rest), cut)

    def differences(self) -> None:
        """Label the first edge of each kind that differs from the expected graph.

        If that graph stops a gradient that flows here, this edge is labelled instead.
        """
        first = {word: edge for edge, word in reversed(self.wrong.items())}
        stop = self.missing_stop()
        for word, edge in first.items():
            if word == WRONG and stop is not None:  # where the other setting stops the gradient
                self.label(_middle(self.routes[stop].points), NOT_STOPPED)
            else:
                self.label(self.routes[edge].points, word)
        for key, rect in self.badges.items():
            if self.expected and self.view.badges[key] != self.expected.badges[key]:
                self.sheet.rect(rect, "err", rect.h / 2)

    def not_reached(self) -> None:
        """Label one recorded box that the gradient does not reach; the others look like it.

        The header of a lane says it where it holds for the whole lane.
        """
        lanes = range(len(self.lanes))
        silent = {n for n in lanes if status_of(self.diagram, self.view, n)[1] == "full"}
        for key, box in self.diagram.boxes.items():
            if self.view.states.get(key, ABSENT) == RECORDED and box.lane in silent:
                spot = self.marks.place([self.boxes[key].middle], NOT_REACHED)
                if spot is not None:
                    self.write(spot, NOT_REACHED, "dim i s mid halo")
                return

    def one_of_each_cut(self) -> dict[BoxEdge, str]:
        """Return one cut edge for each badge, and for each box and the lane that it leads to."""
        chosen: dict[object, BoxEdge] = {}
        for edge in self.view.cuts:
            is_badge = edge[1] in self.badges
            value = edge[1] if is_badge else (edge[0], self.lane_of(edge[1]))
            best = chosen.setdefault(value, edge)
            if best in self.tracks or (not is_badge and self.rise(edge) < self.rise(best)):
                chosen[value] = edge
        return {edge: self.view.cuts[edge] for edge in chosen.values()}

    def missing_stop(self) -> BoxEdge | None:
        """Return the wrong edge on which the expected graph has scissors."""
        cuts = self.expected.cuts if self.expected else {}
        stopped = [edge for edge in self.wrong if edge in cuts and edge[1] in self.boxes]
        return min(stopped, key=self.rise, default=None)

    def rise(self, edge: BoxEdge) -> float:
        return abs(self.boxes[edge[0]].y - self.boxes[edge[1]].y)

    def scissors(self, at: Point, cut: str) -> None:
        """Draw scissors at a point, and the name of the cut beside them."""
        x, y = at
        self.sheet.scissors(x, y)
        self.marks.taken.append(Rect(x - 7, y - 8, 14, 16))
        words = cut if cut.startswith("stop") else f"stopped by {cut}"
        if not self.label([at], words):
            self.label([at], cut)

    def label(self, anchors: Sequence[Point], words: str) -> bool:
        """Write red words near one of the anchors; return whether there is room for them."""
        spot = self.marks.place(anchors, words)
        if spot is not None:
            self.write(spot, words, "red b s mid halo")
        return spot is not None

    def write(self, spot: Rect, words: str, classes: str) -> None:
        self.sheet.text(spot.middle[0], spot.y + 10.5, words, classes)

    def lane_of(self, key: Key) -> int:
        return (self.diagram.boxes.get(key) or self.diagram.badges[key]).lane

    def crossed(self, lane: int) -> bool:
        """Return whether a gradient crosses the left border of a lane."""
        return any(
            state == REACHED and self.lane_of(target) < lane <= self.lane_of(source)
            for (source, target), state in self.view.flows.items()
        )

    def failure(self) -> None:
        failure = self.view.graph.failure
        if failure is None:
            return
        if self.view.failed is not None:
            box = self.boxes[self.view.failed]
            self.sheet.rect(Rect(box.right - 4, box.y - 10, 14, 14), "errbg err", 7)
            self.sheet.text(box.right + 3, box.y + 1, "✗", "red b s mid")
        strip = Rect(self.x, self.y + self.height + 8, self.width, ERROR_H - 8)
        self.sheet.rect(strip, "errbg err", 5)
        room = max(20, int((strip.w - 40) / 7.1))
        lines = textwrap.wrap(f"✗ {failure.text}", room, max_lines=3, placeholder=" …")
        for i, line in enumerate(lines):
            self.sheet.text(strip.x + 10 + 11 * (i > 0), strip.y + 14 + 14 * i, line, "red s")


def _middle(points: Sequence[Point]) -> list[Point]:
    return [points[len(points) // 2]]


def _every(start: float, end: float) -> list[float]:
    """Return numbers from `start` to `end`, at most 4 apart."""
    steps = max(1, round(abs(end - start) / 4))
    return [start + (end - start) * i / steps for i in range(steps + 1)]
