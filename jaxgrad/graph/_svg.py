"""A diagram and its settings as SVG text: the same bytes for the same graphs."""

from __future__ import annotations

import collections
import textwrap
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from jaxgrad.graph._fold import Diagram, fold
from jaxgrad.graph._layout import GAP_X, HEADER_H, LANE_GAP, Layout, Rect, arrange
from jaxgrad.graph._runs import depth_for, place_all
from jaxgrad.graph._states import View
from jaxgrad.graph._model import ABSENT, REACHED, RECORDED, Graph
from jaxgrad.graph._style import HUES, style


LABEL_W, MARGIN, CODE_H, CUT_H, SIDE_GAP = 168.0, 22.0, 20.0, 18.0, 44.0
ROOM, ROOM_ALONE = 1360.0, 1700.0  # for lanes, beside the labels of the rows
BOXES = (14, 12, 8, 6, 4, 2, 1)  # in a lane at most: the first that fits
BESIDE, WIDER = 12, 7  # more than the one: only side by side; the other: of a lane with much in it
_ABOUT = {
    "torch": "autograd graph of the loss",
    "JAX": "jaxpr of the VJP",
}


class Setting(NamedTuple):
    """One row of the picture: the same program in both frameworks, or in one.

    `code` is what the user writes in each, `note` and `verdict` stand at the left.
    """

    torch: Graph | None = None
    jax: Graph | None = None
    code: tuple[str, str] = ("", "")
    note: str = ""
    verdict: str = ""


def side_by_side(
    settings: Mapping[str, Setting | Graph | tuple[Graph, Graph]], *, title: str = ""
) -> str:
    """Draw the backward graphs of several settings on one layout, torch beside JAX.

    A box that one setting has and another has not keeps its place as an outline, so that what a
    setting takes away is seen as a hole. Headers read forward, boxes backward; a dashed red line
    with scissors is where the gradient is stopped, a pill at the bottom what lands on a parameter.

    Args:
      settings: Name -> `Setting`, a `Graph` alone, or a pair (torch's, JAX's). Names are the
        labels of the rows.
      title: What the whole picture shows.

    Returns:
      The text of an SVG: light and dark, with a title and a description for those who cannot see
      it. The same graphs give the same bytes.

    Raises:
      ValueError: `settings` is empty.

    Example:
      >>> import jax, jax.numpy as jnp, jaxgrad.graph
      >>> def loss(w, stop):
      ...     return jnp.sum(stop(jnp.sin(w)) * w)
      >>> def graph(stop):
      ...     return jaxgrad.graph.backward_graph(lambda w: loss(w, stop), jnp.ones(3))
      >>> svg = jaxgrad.graph.side_by_side(
      ...     {"plain": graph(lambda x: x), "stopped": graph(jax.lax.stop_gradient)}
      ... )
      >>> svg[:4], svg.count("stop_gradient") > 0
      ('<svg', True)

    Torch: nothing; torchviz draws one graph, and `detach` and `no_grad` alike.
    """
    if not settings:
        raise ValueError("settings is empty: name at least one, {'plain': graph}")
    rows = {name: _setting(value) for name, value in settings.items()}
    return _Picture(rows, *_panels(rows), title).text()


class _Panel(NamedTuple):
    """Everything of one framework."""

    framework: str
    version: str
    diagram: Diagram
    layout: Layout
    views: Mapping[str, View]  # by setting

    @property
    def width(self) -> float:
        return max(self.layout.width, 330.0)  # room for its title


def _setting(value: Any) -> Setting:
    if isinstance(value, Graph):
        return Setting(**{value.framework.lower(): value})
    return value if isinstance(value, Setting) else Setting(*value)


def _panels(rows: Mapping[str, Setting]) -> tuple[list[_Panel], bool]:
    """One panel a framework: beside each other if there is room, else one above the other.

    Where all is too wide, lanes are folded; the room that is left goes to the fullest lanes.
    """
    sides = [
        {name: graph for name, row in rows.items() if (graph := getattr(row, side)) is not None}
        for side in ("torch", "jax")
    ]
    found = [
        (graphs, place_all(list(graphs.values()), list(others.values())))
        for graphs, others in (sides, sides[::-1])
        if graphs
    ]
    depth = min(depth_for(each) for _, each in found)

    def panels(most: int, wide: frozenset[str] = frozenset()) -> list[_Panel]:
        made = [
            _panel(graphs, fold(each, depth, lambda lane: WIDER if lane in wide else most))
            for graphs, each in found
        ]
        return made if most > BESIDE else [_aligned(panel, made) for panel in made]

    for most in BOXES:
        made = panels(most)
        if most > BESIDE and sum(panel.width for panel in made) + SIDE_GAP <= ROOM:
            return made, False
        if most <= BESIDE and _fits(made):
            break
    else:
        return made, len(made) > 1
    wide: frozenset[str] = frozenset()
    for lane in _fullest(made) if most < WIDER else ():
        more = panels(most, wide | {lane})
        if _fits(more):
            made, wide = more, wide | {lane}
    return made, len(made) > 1


def _fits(panels: Sequence[_Panel]) -> bool:
    return max(panel.width for panel in panels) <= ROOM_ALONE


def _fullest(panels: Sequence[_Panel]) -> list[str]:
    """Lanes by how many operations are in them."""
    size: collections.Counter[str] = collections.Counter()
    for panel in panels:
        for box in panel.diagram.boxes.values():
            size[panel.diagram.lanes[box.lane]] += len(box.members)
    return [lane for lane, _ in size.most_common()]


def _panel(graphs: Mapping[str, Graph], diagram: Diagram) -> _Panel:
    first = next(iter(graphs.values()))
    views = dict(zip(graphs, diagram.views, strict=True))
    return _Panel(first.framework, first.version, diagram, arrange(diagram), views)


def _aligned(panel: _Panel, panels: Sequence[_Panel]) -> _Panel:
    """One above the other: each lane as wide as its counterpart."""
    widest: dict[str, float] = {}
    for each in panels:
        for name, lane in zip(each.diagram.lanes, each.layout.lanes, strict=True):
            widest[name] = max(widest.get(name, 0.0), lane.w)
    return panel._replace(layout=arrange(panel.diagram, widest))


class _Picture:
    def __init__(
        self, rows: Mapping[str, Setting], panels: Sequence[_Panel], stacked: bool, title: str
    ):
        self.rows, self.panels, self.stacked = rows, panels, stacked
        frameworks = " and ".join(panel.framework for panel in panels)
        self.title = title or f"Backward graph in {frameworks}"
        names = dict.fromkeys(name for panel in panels for name in panel.diagram.lanes)
        self.hue = {name: i % HUES for i, name in enumerate(n for n in names if n != "loss")}
        self.hue["loss"] = HUES
        self.left = MARGIN + (LABEL_W if any(rows) or any(r.note for r in rows.values()) else 0)
        self.out: list[str] = []

    def text(self) -> str:
        y = self._head()
        for name, row in self.rows.items():
            self._line(f"M{MARGIN:g} {_n(y)}H{_n(self._width() - MARGIN)}", "rule")
            y = self._row(name, row, y + 10)
        width, height = _n(self._width()), _n(y + 4)
        body = "".join(self.out)
        ident = f"jaxgrad-{zlib.crc32(body.encode()):08x}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="jaxgrad-graph" role="img" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'aria-labelledby="{ident}-title {ident}-desc">'
            f'<title id="{ident}-title">{escape(self.title)}</title>'
            f'<desc id="{ident}-desc">{escape(self._description())}</desc>'
            f'{style()}<rect class="bg" width="{width}" height="{height}"/>{body}</svg>\n'
        )

    def _width(self) -> float:
        widths = [panel.width for panel in self.panels]
        inner = max(widths) if self.stacked else sum(widths) + SIDE_GAP * (len(widths) - 1)
        return self.left + max(inner, 640.0) + MARGIN

    # ---- head

    def _head(self) -> float:
        y = 10.0
        for line in textwrap.wrap(self.title, int((self._width() - 2 * MARGIN) / 9.6)):
            y += 20
            self._text(MARGIN, y, line, "t b h")
        x, y = MARGIN, y + 22
        for mark, words in self._legend():
            wide = 34 + len(words) * 6.1 + 18
            if x > MARGIN and x + wide > self._width():
                x, y = MARGIN, y + 22
            if mark == "cut":
                self._scissors(x + 13, y)
            elif mark:
                about = f'x="{_n(x)}" y="{_n(y - 7)}" width="26" height="14"'
                round_ = 7 if mark == "solid" else 3
                self.out.append(f'<g class="h0"><rect class="{mark}" {about} rx="{round_}"/></g>')
            self._text(x + (34 if mark else 0), y + 4, words, "dim s")
            x += wide
        y += 22
        if not self.stacked:
            x = self.left
            for panel in self.panels:
                self._panel_title(panel, x, y + 10)
                x += panel.width + SIDE_GAP
            y += 22
        return y

    def _legend(self) -> list[tuple[str, str]]:
        """What the marks mean; those that this picture has."""
        views = [view for panel in self.panels for view in panel.views.values()]
        states = {state for view in views for state in view.states.values()}
        marks = [("", "Headers read forward →, boxes backward ←"), ("full", "on the path of the loss")]
        if RECORDED in states:
            marks.append(("thin hollow", "recorded, but this loss does not reach it"))
        if ABSENT in states:
            marks.append(("none", "not there: never recorded (torch), not in the VJP (JAX)"))
        if any(view.cuts for view in views):
            marks.append(("cut", "the gradient is stopped here"))
        return [*marks, ("solid", "∇: norm of the gradient that lands on a parameter")]

    def _panel_title(self, panel: _Panel, x: float, y: float) -> None:
        name = f"{panel.framework} {panel.version}"
        self._text(x, y, name, "t b")
        self._text(x + len(name) * 7.9 + 10, y, _ABOUT[panel.framework], "dim")

    # ---- one setting

    def _row(self, name: str, row: Setting, y: float) -> float:
        head = (CODE_H if any(row.code) else 0) + CUT_H
        at = y + head
        self._text(MARGIN, at + 14, name, "t b")
        label = at + 32
        for line in textwrap.wrap(row.note, 27):
            self._text(MARGIN, label, line, "dim s")
            label += 15
        if row.verdict:
            for line in textwrap.wrap(row.verdict, 26):
                kind = "ok" if row.verdict.startswith("✓") else "red"
                self._text(MARGIN, label + 4, line, f"{kind} b s")
                label += 15
        x, bottom = self.left, y
        failed = any(p.views[name].graph.failure for p in self.panels if name in p.views)
        for panel, code in zip(self.panels, self._codes(row), strict=True):
            if self.stacked and name not in panel.views:
                continue
            if self.stacked:
                self._panel_title(panel, x, y + 12)
                y += 20
            if name in panel.views:
                self._text(x, y + 12, code, "t m c")
                _View(self, panel, panel.views[name], x, y + head).draw()
            height = head + panel.layout.height + (40 if failed else 0) + 14
            bottom = max(bottom, y + height)
            if self.stacked:
                y += height
            else:
                x += panel.width + SIDE_GAP
        return max(bottom, label + 10)

    def _codes(self, row: Setting) -> list[str]:
        both = {"torch": row.code[0], "JAX": row.code[1]}
        return [both[panel.framework] for panel in self.panels]

    # ---- marks

    def _text(self, x: float, y: float, words: str, classes: str) -> None:
        if words:
            self.out.append(
                f'<text x="{_n(x)}" y="{_n(y)}" class="{classes}" xml:space="preserve">'
                f"{escape(words)}</text>"
            )

    def _line(self, d: str, classes: str) -> None:
        self.out.append(f'<path class="{classes}" d="{d}"/>')

    def _scissors(self, x: float, y: float) -> None:
        self.out.append(
            f'<g transform="translate({_n(x)} {_n(y)})"><path class="cut sc" d="M-3.2 2.6L3.6 -7.5'
            'M3.2 2.6L-3.6 -7.5M-2 4.8a2.4 2.4 0 1 1 -4.8 0a2.4 2.4 0 1 1 4.8 0'
            'M6.8 4.8a2.4 2.4 0 1 1 -4.8 0a2.4 2.4 0 1 1 4.8 0"/></g>'
        )

    def _description(self) -> str:
        sentences = []
        for name in self.rows:
            for panel in self.panels:
                if name in panel.views:
                    where = f"{name}, {panel.framework}" if name else panel.framework
                    sentences.append(f"{where}: {describe(panel.diagram, panel.views[name])}.")
        return " ".join(sentences)


def describe(diagram: Diagram, view: View) -> str:
    """A view in words: the lanes that are not reached, the cuts, what lands where, the error."""
    parts = []
    for lane, name in enumerate(diagram.lanes):
        status = lane_status(diagram, view, lane)
        parts.append(f"{name} {status or 'on the path of the loss'}")
    parts += [f"gradient stopped by {cut}" for cut in sorted(set(view.cuts.values()))]
    for key, pill in diagram.pills.items():
        parts.append(f"{diagram.lanes[pill.lane]} {pill.text} {view.pills[key][1]}")
    if view.graph.failure:
        parts.append(f"raises {view.graph.failure.text}")
    return "; ".join(parts)


def lane_reached(diagram: Diagram, view: View, lane: int) -> bool:
    mine = [key for key, box in diagram.boxes.items() if box.lane == lane]
    return any(view.states.get(key) == REACHED for key in mine)


def lane_status(diagram: Diagram, view: View, lane: int) -> str:
    """What a reader should know of a lane that the loss does not reach."""
    states = {
        view.states.get(key, ABSENT) for key, box in diagram.boxes.items() if box.lane == lane
    }
    if REACHED in states or not states:
        leaves = [n for p in diagram.pills.values() if p.lane == lane for n in p.leaves]
        notes = {leaf.note for leaf in view.graph.leaves if leaf.name in leaves}
        return "".join(notes) if len(notes) == 1 else ""
    if RECORDED in states:
        return "recorded, not reached"
    if view.failed is not None and diagram.boxes[view.failed].lane <= lane:
        return "raises" if diagram.boxes[view.failed].lane == lane else "never ran"
    return "not recorded" if view.graph.framework == "torch" else "not in the VJP"


class _View:
    """One setting of one framework, at its place."""

    def __init__(self, picture: _Picture, panel: _Panel, view: View, x: float, y: float):
        self.pic, self.out, self.view = picture, picture.out, view
        self.diagram, self.layout = panel.diagram, panel.layout
        self.x, self.y, self.width = x, y, panel.width

    def draw(self) -> None:
        for lane in range(len(self.diagram.lanes)):
            self._lane(lane)
        for way in sorted(self.diagram.ways, key=self.view.cuts.__contains__):
            self._way(way)
        for key in self.diagram.boxes:
            self._box(key)
        for key in self.diagram.pills:
            self._pill(key)
        self._cuts()
        self._failure()

    def _at(self, rect: Rect) -> Rect:
        return rect._replace(x=rect.x + self.x, y=rect.y + self.y)

    def _hue(self, lane: int) -> str:
        return f"h{self.pic.hue[self.diagram.lanes[lane]]}"

    def _lane(self, lane: int) -> None:
        head, name = self._at(self.layout.lanes[lane]), self.diagram.lanes[lane]
        status = lane_status(self.diagram, self.view, lane)
        shape = {"recorded, not reached": "thin hollow", "": "full"}.get(status, "none")
        shape = "full" if lane_reached(self.diagram, self.view, lane) else shape
        self.out.append(
            f'<g class="{self._hue(lane)}"><rect class="lane" x="{_n(head.x)}" y="{_n(head.y)}" '
            f'width="{_n(head.w)}" height="{_n(self.layout.height)}" rx="6"/>'
            f'<rect class="{shape}" x="{_n(head.x)}" y="{_n(head.y)}" width="{_n(head.w)}" '
            f'height="{_n(HEADER_H)}" rx="5"/></g>'
        )
        middle = head.x + head.w / 2
        self.pic._text(middle, head.y + (13 if status else 19.5), name, "t b mid")
        self.pic._text(middle, head.y + 25, status, "dim i s mid")
        if lane:
            y = head.y + HEADER_H / 2
            self._arrow(f"M{_n(head.x - LANE_GAP + 2)} {_n(y)}H{_n(head.x - 6)}", head.x - 1, y, 1)

    def _arrow(self, d: str, x: float, y: float, way: int = -1, kind: str = "w") -> None:
        self.pic._line(d, kind)
        head = f"M{_n(x)} {_n(y)}l{-6 * way} -3.4v6.8z"
        fill = "ah" if kind == "w" else "rec hollow"
        self.out.append(f'<path class="{fill}" d="{head}"/>')

    def _way(self, way: Any) -> None:
        state = self.view.flows.get(way)
        kind = {REACHED: "w", RECORDED: "rec"}.get(state or "", "ghost")
        if way in self.view.cuts:
            kind = "cut"
        source = self._at(self.layout.boxes[way[0]])
        to_pill = way[1] in self.layout.pills
        target = self._at((self.layout.pills if to_pill else self.layout.boxes)[way[1]])
        if to_pill:
            self._down(source, target, kind)
        elif way in self.layout.tracks:
            self._over(source, target, self.y + self.layout.tracks[way], kind)
        else:
            self._back(source, target, kind)

    def _end(self, d: str, x: float, y: float, kind: str, down: bool = False) -> None:
        if kind in ("ghost", "cut"):
            self.pic._line(d, kind)
            return
        self.pic._line(d, kind)
        turn = f"M{_n(x)} {_n(y)}l-3.4 -6h6.8z" if down else f"M{_n(x)} {_n(y)}l6 -3.4v6.8z"
        self.out.append(f'<path class="{"ah" if kind == "w" else "rec hollow"}" d="{turn}"/>')

    def _back(self, a: Rect, b: Rect, kind: str) -> None:
        (_, y1), (_, y2) = a.middle, b.middle
        x1, x2 = a.x, b.right
        if y1 == y2:
            self._end(f"M{_n(x1)} {_n(y1)}H{_n(x2 + 5)}", x2, y2, kind)
        elif x1 - x2 > 4:
            bend = x2 + min(GAP_X, x1 - x2) * 0.62
            start = min(x1, bend + 14)
            d = f"M{_n(x1)} {_n(y1)}H{_n(start)}Q{_n(bend)} {_n(y1)} {_n(bend)} {_n((y1 + y2) / 2)}"
            self._end(d + f"Q{_n(bend)} {_n(y2)} {_n(x2 + 5)} {_n(y2)}", x2, y2, kind)
        else:  # below or above each other
            x = min(a.x, b.x) + 12
            top, bottom = (a.y + a.h, b.y) if y1 < y2 else (a.y, b.y + b.h)
            self._end(f"M{_n(x)} {_n(top)}V{_n(bottom)}", x, bottom, kind, down=y1 < y2)

    def _over(self, a: Rect, b: Rect, y: float, kind: str) -> None:
        x1, x2 = a.x + 10, b.right - 8
        d = f"M{_n(x1)} {_n(a.y)}V{_n(y + 6)}Q{_n(x1)} {_n(y)} {_n(x1 - 6)} {_n(y)}"
        d += f"H{_n(x2 + 6)}Q{_n(x2)} {_n(y)} {_n(x2)} {_n(y + 6)}V{_n(b.y - 5)}"
        self._end(d, x2, b.y, kind, down=True)

    def _down(self, a: Rect, b: Rect, kind: str) -> None:
        x1, x2 = a.x + min(12.0, a.w / 2), b.middle[0]
        if b.x + 10 <= a.middle[0] <= b.right - 10:
            x1 = x2 = a.middle[0]
        y1, y2 = a.y + a.h, b.y
        boxes = map(self._at, self.layout.boxes.values())
        if any(box.x <= x1 <= box.right and y1 < box.y < y2 for box in boxes):  # another is below
            x1, y1 = a.x - 8, a.middle[1]
            d = f"M{_n(a.x)} {_n(y1)}Q{_n(x1)} {_n(y1)} {_n(x1)} {_n(y1 + 8)}"
        else:
            d = f"M{_n(x1)} {_n(y1)}"
        middle = max(y1 + 6, y2 - 22)
        d += f"V{_n(middle)}C{_n(x1)} {_n(y2 - 6)} {_n(x2)} {_n(middle)} {_n(x2)} {_n(y2 - 5)}"
        self._end(d, x2, y2, kind, down=True)

    def _box(self, key: Any) -> None:
        rect, box = self._at(self.layout.boxes[key]), self.diagram.boxes[key]
        state = self.view.states.get(key, ABSENT)
        shape = {REACHED: "full", RECORDED: "thin hollow"}.get(state, "none")
        lines = [*self.view.inside.get(key, box.members)]
        more = [f"… and {len(lines) - 12} more"] if len(lines) > 12 else []
        about = "\n".join([f"{self.diagram.lanes[box.lane]}: {state}", *lines[:12], *more])
        radius = 11 if box.text == "+" else 4
        place = f'x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.w)}" height="{_n(rect.h)}"'
        inner = ""
        if box.folded and state != ABSENT:
            inner = (
                f'<rect class="thin" fill="none" x="{_n(rect.x + 2.5)}" y="{_n(rect.y + 2.5)}" '
                f'width="{_n(rect.w - 5)}" height="{_n(rect.h - 5)}" rx="2.5"/>'
            )
        self.out.append(
            f'<g class="{self._hue(box.lane)}"><title>{escape(about)}</title>'
            f'<rect class="{shape}" {place} rx="{radius}"/>{inner}</g>'
        )
        if key == self.view.failed:
            self.out.append(f'<rect class="err" {place} rx="{radius}"/>')
        if state != ABSENT or key == self.view.failed:
            x, y = rect.middle
            tone = "t" if state == REACHED else "dim"
            self.pic._text(x, y + 3.8, box.text, f"{tone} m mid")

    def _pill(self, key: Any) -> None:
        rect, pill = self._at(self.layout.pills[key]), self.diagram.pills[key]
        kind, words = self.view.pills[key]
        noted = any(leaf.note for leaf in self.view.graph.leaves if leaf.name in pill.leaves)
        shape = {"value": "solid", "zero": "thin hollow"}.get(kind, "none")
        shape = "full" if noted and kind == "value" else shape
        tone = "on b" if shape == "solid" else "t" if shape in ("full", "thin hollow") else "dim"
        self.out.append(
            f'<g class="{self._hue(pill.lane)}"><title>{escape(", ".join(pill.leaves[:12]))}</title>'
            f'<rect class="{shape}" x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.w)}" '
            f'height="{_n(rect.h)}" rx="12"/></g>'
        )
        x, y = rect.middle
        self.pic._text(x, y + 4, f"∇{pill.text} {words}", f"{tone} s mid")

    def _cuts(self) -> None:
        """A line from top to bottom where nothing passes; else scissors on the way that is cut."""
        lines: dict[int, str] = {}
        for way, cut in self.view.cuts.items():
            lane = self.diagram.boxes[way[0]].lane
            target = self.diagram.boxes.get(way[1]) or self.diagram.pills[way[1]]
            if target.lane < lane and not self._crossed(lane):
                lines[lane] = cut
                continue
            self._cut_here(way, cut)
        for lane, cut in lines.items():
            x = self.x + self.layout.lanes[lane].x - LANE_GAP / 2
            self.pic._line(f"M{_n(x)} {_n(self.y - 2)}V{_n(self.y + self.layout.height)}", "cut")
            self.pic._scissors(x, self.y - 8)
            self.pic._text(x + 12, self.y - 6, cut, "red b s")

    def _cut_here(self, way: Any, cut: str) -> None:
        """Scissors where the way would arrive: others may leave from the same box."""
        if way[1] in self.layout.pills:
            target = self._at(self.layout.pills[way[1]])
            x, y = target.middle[0], target.y - 7
        else:
            target = self._at(self.layout.boxes[way[1]])
            x, y = target.right + 10, target.middle[1]
        if way in self.layout.tracks:
            x, y = target.right - 8, self.y + self.layout.tracks[way] + 12
        self.pic._scissors(x, y)
        self.pic._text(x + 9, y + (-15 if target.y <= self._at(self.layout.boxes[way[0]]).y else 16), cut, "red b s")

    def _crossed(self, lane: int) -> bool:
        """Whether a gradient passes the left edge of a lane."""
        for source, target in self.view.flows:
            end = self.diagram.boxes.get(target) or self.diagram.pills[target]
            if end.lane < lane <= self.diagram.boxes[source].lane:
                return self.view.flows[source, target] == REACHED
        return False

    def _failure(self) -> None:
        failure = self.view.graph.failure
        if failure is None:
            return
        y, width = self.y + self.layout.height + 8, self.width
        if self.view.failed is not None:
            box = self._at(self.layout.boxes[self.view.failed])
            self.out.append(f'<circle class="errbg err" cx="{_n(box.right)}" cy="{_n(box.y)}" r="7"/>')
            self.pic._text(box.right, box.y + 4, "✗", "red b s mid")
        self.out.append(
            f'<rect class="errbg" x="{_n(self.x)}" y="{_n(y)}" width="{_n(width)}" height="34" rx="5"/>'
            f'<rect class="err" x="{_n(self.x)}" y="{_n(y)}" width="{_n(width)}" height="34" rx="5"/>'
        )
        room = max(20, int((width - 40) / 6.2))
        lines = textwrap.wrap(failure.text, room, max_lines=2, placeholder=" …")
        for i, line in enumerate(lines):
            self.pic._text(self.x + 10, y + 14 + 14 * i, ("✗ " if i == 0 else "   ") + line, "red s")


def _n(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")
