"""Compose a whole picture as SVG text; equal graphs give equal bytes."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._legend import legend
from jaxgrad.graph._model import Graph, renderers
from jaxgrad.graph._panels import ROOM, SIDE_GAP, Panel, Panels, fit
from jaxgrad.graph._sheet import Sheet, number
from jaxgrad.graph._style import HUES, style
from jaxgrad.graph._view import ERROR_H, Drawing
from jaxgrad.graph._words import describe


MARGIN, LABEL_H, CODE_H, CUT_H = 22.0, 22.0, 20.0, 18.0
WIDEST = ROOM + 2 * MARGIN
COLUMN = 118.0  # for the rows' names, if there is room
NARROW, NARROW_MARGIN = 640.0, 8.0  # a phone has no room for margins
CODE_CHAR = 7.0
_ABOUT = {"torch": "autograd graph of the loss", "JAX": "jaxpr of the VJP"}


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


def side_by_side(
    settings: Mapping[str, Setting | Graph | tuple[Graph, Graph]],
    *,
    title: str = "",
    rearranging: bool = False,
    width: float = WIDEST,
) -> str:
    """Draw the backward graphs of several settings on one layout, torch beside JAX.

    A box that a setting lacks is drawn as an outline at the same place, so that removed operations
    show as gaps. Lane headers read forward, boxes backward. A dashed red line with scissors marks
    where the gradient is stopped; a badge at the bottom shows a parameter's gradient.

    Args:
        settings: Maps a row's label to a `Setting`, a single `Graph`, or a pair (torch, JAX).
        title: The title of the picture.
        rearranging: Whether operations that only change the layout or dtype of a gradient
            (transposes, reshapes, casts) get boxes of their own. By default each is part of the
            box that feeds it, and is listed in that box's tooltip.
        width: The largest width in pixels. A narrower picture merges more operations into a box;
            400 suits a phone. A picture never gets narrower than its lanes with one box each.

    Returns:
        The text of an SVG with light and dark colours, a title, and a description for screen
        readers. Equal graphs give equal bytes.

    Raises:
        ValueError: `settings` is empty, or `width` is not a positive number.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad.graph
        >>> def loss(w, stop):
        ...     return jnp.sum(stop(jnp.sin(w)) * w)
        >>> def graph(stop):
        ...     return jaxgrad.graph.backward_graph(lambda w: loss(w, stop), jnp.ones(3))
        >>> svg = jaxgrad.graph.side_by_side(
        ...     {"plain": graph(lambda x: x), "stopped": graph(jax.lax.stop_gradient)}
        ... )
        >>> svg[:4], "gradient stopped by stop_gradient" in svg
        ('<svg', True)

    Torch: no counterpart; torchviz draws one graph, and draws `detach` and `no_grad` alike.
    """
    if not settings:
        raise ValueError("settings is empty: pass at least one, {'plain': backward_graph(...)}")
    if not width > 0:
        raise ValueError(f"width must be a positive number of pixels, got {width!r}")
    rows = {name: _setting(value) for name, value in settings.items()}
    margin = MARGIN if width >= NARROW else NARROW_MARGIN
    room = width - 2 * margin
    sides = [
        {name: row.torch for name, row in rows.items() if row.torch is not None},
        {name: row.jax for name, row in rows.items() if row.jax is not None},
    ]
    fitted = fit([side for side in sides if side], rearranging=rearranging, room=room)
    return _Picture(rows, fitted, title, room, margin).text()


def _wrapped(words: str, width: int) -> list[str]:
    """Wrap text; a word that is too long is broken after an underscore."""
    parts = [w.replace("_", "_ ") if len(w) > width else w for w in words.split()]
    return [line.replace("_ ", "_") for line in textwrap.wrap(" ".join(parts), width)]


renderers["svg"] = lambda graph: side_by_side({"": graph})


def _setting(value: Setting | Graph | tuple[Graph, Graph]) -> Setting:
    if isinstance(value, Graph):
        return Setting(torch=value) if value.framework == "torch" else Setting(jax=value)
    return value if isinstance(value, Setting) else Setting(value[0], value[1])


class _Picture:
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
        y = self.head()
        for name, row in self.rows.items():
            self.sheet.path(
                f"M{number(self.margin)} {number(y)}H{number(self.width - self.margin)}", "rule"
            )
            y = self.row(name, row, y + 10)
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
        for line in textwrap.wrap(self.title, int((self.width - 2 * self.margin) / 9.0)):
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
        for mark, words, pill in legend(self.panels):
            wide = 27 * bool(mark) + len(words) * 5.9 + 14
            if x > self.margin and x + wide > self.width:
                x, y = self.margin, y + 18
            if mark == "cut":
                self.sheet.scissors(x + 11, y)
            elif mark:
                rect = Rect(x, y - 6, 22, 12)
                self.sheet.group("h0")
                self.sheet.rect(rect, "full" if mark == "double" else mark, 6 if pill else 3)
                if mark == "double":
                    self.sheet.rect(Rect(x + 2, y - 4, 18, 8), "thin clear", 2)
                self.sheet.end()
            self.sheet.text(x + 27 * bool(mark), y + 4, words, "dim s")
            x += wide
        return y + 18

    def panel_title(self, panel: Panel, x: float, y: float) -> None:
        name = f"{panel.framework} {panel.version}"
        self.sheet.text(x, y, name, "t b")
        self.sheet.text(x + len(name) * 7.9 + 10, y, _ABOUT[panel.framework], "dim")

    def row(self, name: str, row: Setting, y: float) -> float:
        """Draw a row whose top is at `y`, and return the top of the next row."""
        y = self.label(name, row, y)
        x, bottom = self.left, max(y, self.below)
        panels = [panel for panel in self.panels if name in panel.views or not self.stacked]
        failed = any(p.views[name].graph.failure for p in panels if name in p.views)
        codes = {panel.framework: self.code(row, panel) for panel in panels}
        above = CODE_H * max(map(len, codes.values()), default=0) + CUT_H
        for panel in panels:
            if self.stacked:
                self.panel_title(panel, x, y + 12)
                y += 20
                above = CODE_H * len(codes[panel.framework]) + CUT_H
            if name in panel.views:
                for i, line in enumerate(codes[panel.framework]):
                    self.sheet.text(x, y + 12 + CODE_H * i, line, "t m c")
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
        room = self.width - self.left - self.margin if self.stacked else panel.width + SIDE_GAP / 2
        return textwrap.wrap(row.code[panel.framework != "torch"], int(room / CODE_CHAR))

    def label(self, name: str, row: Setting, y: float) -> float:
        """Draw a row's name, verdict and note; return the y at which its panels begin."""
        tone = "ok" if row.verdict.startswith("✓") else "red"
        parts = ((name, "t b", 8.0), (row.note, "dim s", 5.9), (row.verdict, f"{tone} b s", 6.9))
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
