"""Draw one setting of one framework."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from jaxgrad.graph._differences import MISSING, WRONG, differing
from jaxgrad.graph._keys import Key
from jaxgrad.graph._layout import GAP_X, LANE_GAP, Rect
from jaxgrad.graph._legend import badge_kind
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED
from jaxgrad.graph._panels import Panel
from jaxgrad.graph._sheet import Sheet, number
from jaxgrad.graph._states import BoxEdge, View
from jaxgrad.graph._words import status_of


ERROR_H = 56.0
_BOX = {REACHED: "full", RECORDED: "thin hollow", ABSENT: "none"}
_EDGE = {REACHED: "w", RECORDED: "rec"}
_DIFFERENT = {WRONG: "bad", MISSING: "gone"}
_BADGE = {"value": ("solid", "on b"), "zero": ("thin hollow", "t"), "noted": ("full", "t")}
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
        self.labels: list[Rect] = []
        self.x, self.y, self.width, self.height = x, y, panel.width, panel.layout.height
        layout = panel.layout
        self.lanes = list(map(self.shifted, layout.lanes))
        self.boxes = {key: self.shifted(rect) for key, rect in layout.boxes.items()}
        self.badges = {key: self.shifted(rect) for key, rect in layout.badges.items()}
        self.tracks = {edge: y + track for edge, track in layout.tracks.items()}
        self.cut_edges = self.one_of_each_cut()
        self.wrong = {} if expected is None else differing(panel.diagram, view, expected)
        self.expected = expected

    def shifted(self, rect: Rect) -> Rect:
        return rect._replace(x=rect.x + self.x, y=rect.y + self.y)

    def hue(self, lane: int) -> str:
        return f"h{self.hues[self.diagram.lanes[lane]]}"

    def draw(self) -> None:
        for lane in range(len(self.lanes)):
            self.lane(lane)
        for edge in sorted(self.diagram.edges, key=self.view.cuts.__contains__):
            self.edge(edge)
        for key in self.boxes:
            self.box(key)
        for key in self.badges:
            self.badge(key)
        self.cuts()
        self.differences()
        self.failure()

    def lane(self, lane: int) -> None:
        head = self.lanes[lane]
        status, shape = status_of(self.diagram, self.view, lane)
        self.sheet.group(self.hue(lane))
        self.sheet.rect(head._replace(h=self.height), "lane", 6)
        self.sheet.rect(head, shape, 5)
        self.sheet.end()
        x, y = head.middle
        name = self.diagram.lanes[lane]
        self.sheet.text(x, y + (-2 if status else 4.5), name, "t b mid")
        self.sheet.text(x, y + 10, status, "dim i s mid")
        if lane:
            start = self.lanes[lane - 1].right + 2
            self.sheet.arrow(
                f"M{number(start)} {number(y)}H{number(head.x - 6)}", head.x - 1, y, 180
            )

    def edge(self, edge: BoxEdge) -> None:
        kind = _EDGE.get(self.view.flows.get(edge, ""), "ghost")
        kind = "cut" if edge in self.cut_edges else kind
        kind = _DIFFERENT.get(self.wrong.get(edge, ""), kind)
        source = self.boxes[edge[0]]
        if edge[1] in self.badges:
            self.down(source, self.badges[edge[1]], kind)
        elif edge in self.tracks:
            self.over(edge, kind)
        else:
            self.back(source, self.boxes[edge[1]], kind)

    def back(self, a: Rect, b: Rect, kind: str) -> None:
        (_, y1), (_, y2) = a.middle, b.middle
        n = number
        if y1 == y2:
            self.sheet.arrow(f"M{n(a.x)} {n(y1)}H{n(b.right + 5)}", b.right, y2, 0, kind)
        elif a.x - b.right > 4:
            near = min(GAP_X, a.x - b.right)  # turn beside the box in the main row
            bend = a.x - near * 0.4 if y1 < y2 else b.right + near * 0.62
            d = f"M{n(a.x)} {n(y1)}H{n(min(a.x, bend + 5))}"
            d += f"Q{n(bend)} {n(y1)} {n(bend)} {n((y1 + y2) / 2)}"
            d += f"Q{n(bend)} {n(y2)} {n(max(b.right + 5, bend - 6))} {n(y2)}H{n(b.right + 5)}"
            self.sheet.arrow(d, b.right, y2, 0, kind)
        else:  # below or above each other
            x = min(a.x, b.x) + 12
            top, bottom = (a.y + a.h, b.y) if y1 < y2 else (a.y, b.y + b.h)
            self.sheet.arrow(
                f"M{n(x)} {n(top)}V{n(bottom)}", x, bottom, -90 if y1 < y2 else 90, kind
            )

    def over(self, edge: BoxEdge, kind: str) -> None:
        """Draw an edge above all boxes; it comes down on its target, or right of its lane."""
        a, b, y, n = self.boxes[edge[0]], self.boxes[edge[1]], self.tracks[edge], number
        lane = self.lanes[self.lane_of(edge[1])]
        low = any(o.x < b.right - 8 < o.right and o.y < b.y for o in self.boxes.values())
        x1, x2 = a.x + 10, lane.right + 6 if low else b.right - 8
        d = f"M{n(x1)} {n(a.y)}V{n(y + 6)}Q{n(x1)} {n(y)} {n(x1 - 6)} {n(y)}"
        d += f"H{n(x2 + 6)}Q{n(x2)} {n(y)} {n(x2)} {n(y + 6)}"
        if low:
            middle = b.middle[1]
            d += f"V{n(middle - 6)}Q{n(x2)} {n(middle)} {n(x2 - 6)} {n(middle)}H{n(b.right + 5)}"
            self.sheet.arrow(d, b.right, middle, 0, kind)
        else:
            self.sheet.arrow(d + f"V{n(b.y - 5)}", x2, b.y, -90, kind)

    def down(self, a: Rect, b: Rect, kind: str) -> None:
        x1, x2, n = a.x + min(12.0, a.w / 2), b.middle[0], number
        if b.x + 10 <= a.middle[0] <= b.right - 10:
            x1 = x2 = a.middle[0]
        y1, y2 = a.y + a.h, b.y
        others = self.boxes.values()
        if any(box.x <= x1 <= box.right and y1 < box.y < y2 for box in others):
            x1, y1 = a.x - 8, a.middle[1]  # avoid a box directly below
            d = f"M{n(a.x)} {n(y1)}Q{n(x1)} {n(y1)} {n(x1)} {n(y1 + 8)}"
        else:
            d = f"M{n(x1)} {n(y1)}"
        middle = max(y1 + 6, y2 - 22)
        d += f"V{n(middle)}C{n(x1)} {n(y2 - 6)} {n(x2)} {n(middle)} {n(x2)} {n(y2 - 5)}"
        self.sheet.arrow(d, x2, y2, -90, kind)

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
        if state != ABSENT or key == self.view.failed:
            x, y = rect.middle
            self.sheet.text(x, y + 3.8, box.text, f"{'t' if state == REACHED else 'dim'} m mid")

    def badge(self, key: Key) -> None:
        rect, badge = self.badges[key], self.diagram.badges[key]
        words = self.view.badges[key][1]
        shape, tone = _BADGE.get(badge_kind(self.view, key), ("none", "dim"))
        self.sheet.group(self.hue(badge.lane), ", ".join(badge.leaves[:_LISTED]))
        self.sheet.rect(rect, shape, rect.h / 2)
        self.sheet.end()
        x, y = rect.middle
        self.sheet.text(x, y + 4, f"∇{badge.text} {words}", f"{tone} s mid")

    def cuts(self) -> None:
        """Draw a line across the picture where no gradient passes, scissors on other cut edges."""
        lines: dict[int, str] = {}
        others: list[tuple[BoxEdge, str]] = []
        for edge, cut in self.cut_edges.items():
            lane = self.diagram.boxes[edge[0]].lane
            if self.lane_of(edge[1]) < lane and not self.crossed(lane):
                lines[lane] = cut
            else:
                others.append((edge, cut))
        for lane, cut in lines.items():
            x = self.lanes[lane].x - LANE_GAP / 2
            self.sheet.path(f"M{number(x)} {number(self.y - 2)}v{number(self.height + 2)}", "cut")
            self.labels.append(Rect(x - 1, self.y - 2, 2, self.height + 2))
            self.scissors(x, self.y - 8, cut)
        for edge, cut in others:
            self.scissors(*self.cut_at(edge), cut)

    def differences(self) -> None:
        """Label the first edge of each kind that differs from the expected graph."""
        first = {word: edge for edge, word in reversed(self.wrong.items())}
        for word, edge in first.items():
            self.label(*self.cut_at(edge), word)
        for key, rect in self.badges.items():
            if self.expected and self.view.badges[key] != self.expected.badges[key]:
                self.sheet.rect(rect, "err", rect.h / 2)

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

    def rise(self, edge: BoxEdge) -> float:
        return abs(self.boxes[edge[0]].y - self.boxes[edge[1]].y)

    def cut_at(self, edge: BoxEdge) -> tuple[float, float]:
        """Return the point of a cut edge at its target: the source may have other, open edges."""
        source = self.boxes[edge[0]]
        if edge[1] in self.badges:
            target = self.badges[edge[1]]
            return target.middle[0], target.y - 9
        target = self.boxes[edge[1]]
        if edge in self.tracks:
            return target.right + 12, self.tracks[edge]
        if source.x - target.right < 4:  # below or above each other
            (top, low) = sorted((source, target))
            return min(source.x, target.x) + 12, (top.y + top.h + low.y) / 2
        return target.right + min(source.x - target.right, GAP_X) / 2, target.middle[1]

    def scissors(self, x: float, y: float, cut: str) -> None:
        """Draw scissors at a point, and the name of the cut where there is room beside them."""
        self.sheet.scissors(x, y)
        self.labels.append(Rect(x - 7, y - 8, 14, 16))
        self.label(x, y, cut)

    def label(self, x: float, y: float, words: str) -> None:
        """Write red words near a point, where there is room."""
        width = 6.9 * len(words)
        taken = [*self.boxes.values(), *self.badges.values(), *self.lanes, *self.labels]
        spots = (
            Rect(x + right, y + down, width, 12)
            for down in (-6, *(step for i in range(1, 9) for step in (-6 - 5 * i, -6 + 5 * i)))
            for right in (10, -10 - width, *(10 - width * i / 8 for i in range(1, 8)))
        )
        free = (
            spot
            for spot in spots
            if self.x - 8 <= spot.x
            and spot.right <= self.x + self.width + 8
            and self.y - 20 <= spot.y
            and not any(spot.meets(other) for other in taken)
        )
        label = next(free, None)
        if label is not None:
            self.labels.append(label)
            self.sheet.text(label.x, label.y + 10, words, "red b s halo")

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
        room = max(20, int((strip.w - 40) / 6.2))
        lines = textwrap.wrap(f"✗ {failure.text}", room, max_lines=3, placeholder=" …")
        for i, line in enumerate(lines):
            self.sheet.text(strip.x + 10 + 11 * (i > 0), strip.y + 14 + 14 * i, line, "red s")
