"""Draw programs of one framework each: those of a framework stand beside each other."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from jaxgrad.graph._panels import SIDE_GAP, Panel, Panels
from jaxgrad.graph._picture import ABOUT, CODE_CHAR, CUT_H, NARROW, Picture, Setting
from jaxgrad.graph._view import ERROR_H, Drawing


LINE = 17.0
_CHARS = {"t b": 8.8, "dim s": 6.8, "ok b s": 7.9, "red b s": 7.9, "t m c": CODE_CHAR}


class Beside(Picture):
    """A picture in which each row is a program of one framework.

    All programs are in one line if they fit; else each framework starts a line of its own, which
    is broken where it is full.
    """

    def __init__(
        self, rows: Mapping[str, Setting], fitted: Panels, title: str, room: float, margin: float
    ):
        super().__init__(rows, fitted, title, room, margin)
        self.column, self.left = 0.0, margin
        self.cells = [(name, panel) for panel in self.panels for name in panel.views]
        self.lines = self.broken(room)
        wide = max(self.span(line) for line in self.lines)
        self.width = max(wide, min(NARROW, room)) + 2 * margin

    def broken(self, room: float) -> list[list[tuple[str, Panel]]]:
        if self.span(self.cells) <= room:
            return [self.cells]
        lines: list[list[tuple[str, Panel]]] = []
        for cell in self.cells:
            is_next = lines and lines[-1][0][1] is cell[1]
            if is_next and self.span([*lines[-1], cell]) <= room:
                lines[-1].append(cell)
            else:
                lines.append([cell])
        return lines

    def span(self, cells: list[tuple[str, Panel]]) -> float:
        return sum(self.wide(*cell) for cell in cells) + SIDE_GAP * (len(cells) - 1)

    def wide(self, name: str, panel: Panel) -> float:
        """Return the width of a program's graph, and of its name and verdict if they are wider."""
        names = [_width(words, classes) for words, classes in self.above(name, panel)[:2]]
        return max(panel.layout.width, *names)

    def above(self, name: str, panel: Panel) -> list[tuple[str, str]]:
        """Return the lines above a program's graph, with their classes; the first two are short."""
        row = self.rows[name]
        tone = "ok" if row.verdict.startswith("✓") else "red"
        name = name if name == panel.framework else f"{name} in {panel.framework}"
        return [
            (f"{name} {panel.version}", "t b"),
            (row.verdict or ABOUT[panel.framework], f"{tone} b s" if row.verdict else "dim s"),
            (row.note, "dim s"),
            (row.code[panel.framework != "torch"], "t m c"),
        ]

    def body(self, y: float) -> float:
        for line in self.lines:
            self.rule(y)
            y = self.line(line, y + 8)
        return y

    def line(self, cells: list[tuple[str, Panel]], y: float) -> float:
        x = self.left
        texts = []
        for name, panel in cells:
            width = self.wide(name, panel) if len(cells) > 1 else self.width - 2 * self.margin
            wrapped = [
                (line, classes)
                for words, classes in self.above(name, panel)
                for line in textwrap.wrap(words, max(12, int(width / _CHARS[classes])))
            ]
            texts.append((x, wrapped))
            x += width + SIDE_GAP
        above = LINE * max(len(wrapped) for _, wrapped in texts) + CUT_H
        bottom = y
        for (name, panel), (x, wrapped) in zip(cells, texts, strict=True):
            for i, (words, classes) in enumerate(wrapped):
                self.sheet.text(x, y + 13 + LINE * i, words, classes)
            view, expected = panel.views[name], panel.views.get(self.rows[name].expected)
            Drawing(self.sheet, panel, view, self.hues, x, y + above, expected).draw()
            failed = ERROR_H if view.graph.failure else 0
            bottom = max(bottom, y + above + panel.layout.height + failed + 14)
        return bottom


def _width(words: str, classes: str) -> float:
    return len(words) * _CHARS[classes]
