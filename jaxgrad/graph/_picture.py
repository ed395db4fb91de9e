"""Lay out a picture: its title, legend and rows."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._legend import legend
from jaxgrad.graph._model import Graph
from jaxgrad.graph._panels import SIDE_GAP, Panel, Panels
from jaxgrad.graph._sheet import Sheet, number, text_width
from jaxgrad.graph._style import HUES, style
from jaxgrad.graph._view import ERROR_H, Drawing
from jaxgrad.graph._words import describe


MARGIN, LABEL_H, CODE_H, CUT_H = 16.0, 24.0, 20.0, 20.0
COLUMN = 118.0  # for the rows' names, if there is room
NARROW = 640.0  # the title and the legend have at least this width, if there is room
CODE_CHAR = 7.3
INDENT = 50.0  # of code beside the name of its framework
TITLE_PX = 18.0  # 16 pixels, bold
ABOUT = {"torch": "autograd graph", "JAX": "jaxpr of the VJP"}


class Setting(NamedTuple):
    """One row of a picture: a program in both frameworks, or in one.

    `code` holds the torch and the JAX line that a user writes; `note` and `verdict` are printed
    beside the row's name. `expected` names the row that this one should equal: gradients that flow
    in one of them only are red and labelled here.
    """

    torch: Graph | None = None
    jax: Graph | None = None
    code: tuple[str, str] = ("", "")
    note: str = ""
    verdict: str = ""
    expected: str = ""


class Picture:
    """The rows of a picture, one below the other, each with torch beside JAX or above it."""

    def __init__(
        self, rows: Mapping[str, Setting], fitted: Panels, title: str, room: float, margin: float
    ):
        self.rows, self.panels, self.stacked = rows, fitted.panels, fitted.stacked
        frameworks = " and ".join(panel.framework for panel in self.panels)
        self.title = title or f"Backward graph in {frameworks}"
        names = dict.fromkeys(name for panel in self.panels for name in panel.diagram.lanes)
        self.hues = {name: i % HUES for i, name in enumerate(n for n in names if n != "loss")}
        self.hues["loss"] = HUES
        widths = [panel.width for panel in self.panels]
        inner = max(widths) if self.stacked else sum(widths) + SIDE_GAP * (len(widths) - 1)
        named = any(name for name in rows)
        self.column = COLUMN if named and inner + COLUMN <= room else 0.0  # of the rows' names
        self.margin, self.left = margin, margin + self.column
        self.below = 0.0  # the end of a row's text in that column
        self.width = max(inner + self.column, min(NARROW, room)) + 2 * margin
        self.sheet = Sheet()

    def text(self) -> str:
        y = self.body(self.head())
        size = f'width="{number(self.width)}" height="{number(y + 4)}"'
        body = "\n".join(self.sheet.marks)
        ident = f"jaxgrad-{zlib.crc32(body.encode()):08x}"
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="jaxgrad-graph" role="img" {size} '
            f'viewBox="0 0 {number(self.width)} {number(y + 4)}" '
            f'aria-labelledby="{ident}-title {ident}-desc">\n'
            f'<title id="{ident}-title">{escape(self.title)}</title>\n'
            f'<desc id="{ident}-desc">{escape(self.description())}</desc>\n'
            f'{style()}\n<rect class="bg" {size}/>\n{body}\n</svg>\n'
        )

    def body(self, y: float) -> float:
        """Draw all rows below `y`, and return where they end."""
        for name, row in self.rows.items():
            self.rule(y)
            y = self.row(name, row, y + 10)
        return y

    def rule(self, y: float) -> None:
        end = self.width - self.margin
        self.sheet.path(f"M{number(self.margin)} {number(y)}H{number(end)}", "rule")

    def description(self) -> str:
        sentences = []
        for name in self.rows:
            for panel in self.panels:
                if name in panel.views:
                    where = f"{name}, {panel.framework}" if name else panel.framework
                    sentences.append(f"{where}: {describe(panel.diagram, panel.views[name])}.")
        return " ".join(sentences)

    def head(self) -> float:
        y = 10.0
        room = (self.width - 2 * self.margin) / text_width(self.title, TITLE_PX)
        for line in textwrap.wrap(self.title, max(20, int(room * len(self.title)))):
            y += 20
            self.sheet.text(self.margin, y, line, "t b h")
        y = self.legend(y + 20)
        if self.stacked:
            return y
        x = self.left
        for panel in self.panels:
            self.panel_title(panel, x, y + 10)
            x += panel.width + SIDE_GAP
        return y + 22

    def legend(self, y: float) -> float:
        x = self.margin
        compared = any(row.expected and not row.verdict for row in self.rows.values())
        for mark, words, pill in legend(self.panels, compared=compared):
            wide = 27 * bool(mark) + text_width(words) + 18
            if x > self.margin and x + wide > self.width:
                x, y = self.margin, y + 20
            if mark == "cut":
                self.sheet.scissors(x + 11, y)
            elif mark:
                rect = Rect(x, y - 6, 22, 12)
                self.sheet.group(f"h{HUES}")
                self.sheet.rect(rect, "full" if mark == "double" else mark, 6 if pill else 3)
                if mark == "double":
                    self.sheet.rect(Rect(x + 2, y - 4, 18, 8), "thin clear", 2)
                self.sheet.end()
            indent = 27 * bool(mark)
            room = (self.width - x - indent) / max(text_width(words), 1) * len(words)
            first, *rest = textwrap.wrap(words, max(12, int(room)))
            self.sheet.text(x + indent, y + 4, first, "dim s")
            for line in rest:
                y += 16
                self.sheet.text(x + indent, y + 4, line, "dim s")
            x = self.width if rest else x + wide
        return y + 20

    def panel_title(self, panel: Panel, x: float, y: float) -> None:
        words = f"{panel.framework} {panel.version} · {ABOUT[panel.framework]}"
        self.sheet.text(x, y, words, "t b")

    def row(self, name: str, row: Setting, y: float) -> float:
        """Draw a row whose top is at `y`, and return the top of the next row."""
        y = self.label(name, row, y)
        x, bottom = self.left, max(y, self.below)
        panels = [panel for panel in self.panels if name in panel.views or not self.stacked]
        failed = any(p.views[name].graph.failure for p in panels if name in p.views)
        codes = {panel.framework: self.code(row, panel) for panel in panels}
        above = CODE_H * max(map(len, codes.values()), default=0) + CUT_H
        for panel in panels:
            code = codes[panel.framework]
            indent = 0.0
            if self.stacked and code and name != next(iter(panel.views)):
                self.sheet.text(x, y + 12, panel.framework, "t b")
                indent = INDENT
            elif self.stacked:
                self.panel_title(panel, x, y + 12)
                y += 20
            if self.stacked:
                above = CODE_H * len(code) + CUT_H
            if name in panel.views:
                for i, line in enumerate(code):
                    self.sheet.text(x + indent, y + 12 + CODE_H * i, line, "t m c")
                view = panel.views[name]
                expected = panel.views.get(row.expected)
                Drawing(self.sheet, panel, view, self.hues, x, y + above, expected).draw()
            height = above + panel.layout.height + (ERROR_H if failed else 0) + 14
            bottom = max(bottom, y + height)
            if self.stacked:
                y += height
            else:
                x += panel.width + SIDE_GAP
        return bottom

    def code(self, row: Setting, panel: Panel) -> list[str]:
        """Return the line that a user writes, wrapped to the room of a panel."""
        room = (
            self.width - self.left - self.margin - INDENT
            if self.stacked
            else panel.width + SIDE_GAP / 2
        )
        return textwrap.wrap(row.code[panel.framework != "torch"], int(room / CODE_CHAR))

    def label(self, name: str, row: Setting, y: float) -> float:
        """Draw a row's name, verdict and note; return the y at which its panels begin."""
        tone = "ok" if row.verdict.startswith("✓") else "red"
        parts = ((name, "t b", 8.8), (row.note, "dim s", 6.8), (row.verdict, f"{tone} b s", 7.9))
        if self.column:
            below = y
            for words, classes, char in parts:
                for line in _wrapped(words, int((self.column - 12) / char)):
                    below += 15
                    self.sheet.text(self.margin, below - 1, line, classes)
                below += 4
            self.below = below
            return y
        x = self.margin
        for words, classes, char in (parts[0], parts[2], parts[1]):
            wide = len(words) * char + 16
            if x > self.margin and x + wide > self.width:
                x, y = self.margin, y + 16
            self.sheet.text(x, y + 14, words, classes)
            x += wide if words else 0
        return y + (LABEL_H if x > self.margin else 0)


def _wrapped(words: str, width: int) -> list[str]:
    """Wrap text; a word that is too long is broken after an underscore."""
    parts = [w.replace("_", "_ ") if len(w) > width else w for w in words.split()]
    return [line.replace("_ ", "_") for line in textwrap.wrap(" ".join(parts), width)]
