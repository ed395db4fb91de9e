"""Compose a whole picture as SVG text; equal graphs give equal bytes."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Mapping
from typing import NamedTuple
from xml.sax.saxutils import escape

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._model import ABSENT, RECORDED, Graph, renderers
from jaxgrad.graph._panels import SIDE_GAP, Panel, Panels, fit
from jaxgrad.graph._sheet import Sheet, number
from jaxgrad.graph._style import HUES, style
from jaxgrad.graph._view import ERROR_H, Drawing
from jaxgrad.graph._words import describe


MARGIN, LABEL_H, CODE_H, CUT_H = 22.0, 22.0, 20.0, 18.0
_ABOUT = {"torch": "autograd graph of the loss", "JAX": "jaxpr of the VJP"}


class Setting(NamedTuple):
    """One row of a picture: a program in both frameworks, or in one.

    `code` holds the torch and the JAX line that a user writes; `note` and `verdict` are printed
    beside the row's name.
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

    A box that a setting lacks is drawn as an outline at the same place, so that removed operations
    show as gaps. Lane headers read forward, boxes backward. A dashed red line with scissors marks
    where the gradient is stopped; a badge at the bottom shows a parameter's gradient.

    Args:
        settings: Maps a row's label to a `Setting`, a single `Graph`, or a pair (torch, JAX).
        title: The title of the picture.

    Returns:
        The text of an SVG with light and dark colours, a title, and a description for screen
        readers. Equal graphs give equal bytes.

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
        >>> svg[:4], "gradient stopped by stop_gradient" in svg
        ('<svg', True)

    Torch: no counterpart; torchviz draws one graph, and draws `detach` and `no_grad` alike.
    """
    if not settings:
        raise ValueError("settings is empty: pass at least one, {'plain': backward_graph(...)}")
    rows = {name: _setting(value) for name, value in settings.items()}
    sides = [
        {name: row.torch for name, row in rows.items() if row.torch is not None},
        {name: row.jax for name, row in rows.items() if row.jax is not None},
    ]
    return _Picture(rows, fit([side for side in sides if side]), title).text()


renderers["svg"] = lambda graph: side_by_side({"": graph})


def _setting(value: Setting | Graph | tuple[Graph, Graph]) -> Setting:
    if isinstance(value, Graph):
        return Setting(torch=value) if value.framework == "torch" else Setting(jax=value)
    return value if isinstance(value, Setting) else Setting(value[0], value[1])


class _Picture:
    def __init__(self, rows: Mapping[str, Setting], fitted: Panels, title: str):
        self.rows, self.panels, self.stacked = rows, fitted.panels, fitted.stacked
        frameworks = " and ".join(panel.framework for panel in self.panels)
        self.title = title or f"Backward graph in {frameworks}"
        names = dict.fromkeys(name for panel in self.panels for name in panel.diagram.lanes)
        self.hues = {name: i % HUES for i, name in enumerate(n for n in names if n != "loss")}
        self.hues["loss"] = HUES
        widths = [panel.width for panel in self.panels]
        inner = max(widths) if self.stacked else sum(widths) + SIDE_GAP * (len(widths) - 1)
        self.width = max(inner, 640.0) + 2 * MARGIN
        self.sheet = Sheet()

    def text(self) -> str:
        y = self.head()
        for name, row in self.rows.items():
            self.sheet.path(f"M{number(MARGIN)} {number(y)}H{number(self.width - MARGIN)}", "rule")
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
        for line in textwrap.wrap(self.title, int((self.width - 2 * MARGIN) / 9.0)):
            y += 20
            self.sheet.text(MARGIN, y, line, "t b h")
        y = self.legend(y + 22)
        if self.stacked:
            return y
        x = MARGIN
        for panel in self.panels:
            self.panel_title(panel, x, y + 10)
            x += panel.width + SIDE_GAP
        return y + 22

    def legend(self, y: float) -> float:
        """Explain the marks that this picture contains."""
        views = [view for panel in self.panels for view in panel.views.values()]
        states = {state for view in views for state in view.states.values()}
        marks = [
            ("", "Headers read forward →, boxes backward ←"),
            ("full", "on the path of the loss"),
        ]
        if RECORDED in states:
            marks.append(("thin hollow", "recorded, but this loss does not reach it"))
        if ABSENT in states:
            marks.append(("none", "absent: never recorded (torch), not in the VJP (JAX)"))
        if any(view.cuts for view in views):
            marks.append(("cut", "the gradient is stopped here"))
        marks.append(("solid", "∇ norm of a parameter's gradient"))
        x = MARGIN
        for mark, words in marks:
            wide = 34 * bool(mark) + len(words) * 5.5 + (16 if mark else 28)
            if x > MARGIN and x + wide > self.width:
                x, y = MARGIN, y + 22
            if mark == "cut":
                self.sheet.scissors(x + 18, y)
            elif mark:
                self.sheet.group("h0")
                self.sheet.rect(Rect(x, y - 7, 26, 14), mark, 7 if mark == "solid" else 3)
                self.sheet.end()
            self.sheet.text(x + 34 * bool(mark), y + 4, words, "dim s")
            x += wide
        return y + 22

    def panel_title(self, panel: Panel, x: float, y: float) -> None:
        name = f"{panel.framework} {panel.version}"
        self.sheet.text(x, y, name, "t b")
        self.sheet.text(x + len(name) * 7.9 + 10, y, _ABOUT[panel.framework], "dim")

    def row(self, name: str, row: Setting, y: float) -> float:
        """Draw a row whose top is at `y`, and return the top of the next row."""
        y = self.label(name, row, y)
        above = (CODE_H if any(row.code) else 0) + CUT_H
        x, bottom = MARGIN, y
        panels = [panel for panel in self.panels if name in panel.views or not self.stacked]
        failed = any(p.views[name].graph.failure for p in panels if name in p.views)
        for panel in panels:
            if self.stacked:
                self.panel_title(panel, x, y + 12)
                y += 20
            if name in panel.views:
                code = row.code[0 if panel.framework == "torch" else 1]
                self.sheet.text(x, y + 12, code, "t m c")
                view = panel.views[name]
                Drawing(self.sheet, panel, view, self.hues, x, y + above).draw()
            height = above + panel.layout.height + (ERROR_H if failed else 0) + 14
            bottom = max(bottom, y + height)
            if self.stacked:
                y += height
            else:
                x += panel.width + SIDE_GAP
        return bottom

    def label(self, name: str, row: Setting, y: float) -> float:
        """Draw a row's name, verdict and note, and return the y below them."""
        tone = "ok" if row.verdict.startswith("✓") else "red"
        x = MARGIN
        for words, classes, char in (
            (name, "t b", 8.0),
            (row.verdict, f"{tone} b s", 6.9),
            (row.note, "dim s", 6.2),
        ):
            wide = len(words) * char + 16
            if x > MARGIN and x + wide > self.width:
                x, y = MARGIN, y + 16
            self.sheet.text(x, y + 14, words, classes)
            x += wide if words else 0
        return y + (LABEL_H if x > MARGIN else 0)
