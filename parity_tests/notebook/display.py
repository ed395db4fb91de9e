"""Objects that a notebook displays, formatted by HTML attributes and inline styles.

GitHub removes style sheets from notebooks.
"""

import dataclasses
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parity_tests.notebook.highlight import block
from parity_tests.report.rows import SAME, ZERO, TextRow
from parity_tests.report.text import SIGNS


_GREEN, _AMBER = "#1f883d", "#9a6700"  # readable on white and on black
_OUTPUT = "text-align:left;white-space:pre-wrap;font-size:12px;margin:0"
_CELL = "text-align:left;vertical-align:top;padding:4px 10px"


@dataclasses.dataclass(frozen=True)
class Program:
    """A program as it is displayed.

    Attributes:
        where: The framework and the file that the program is cut from.
        text: The lines that are displayed.
        marked: The numbers of the lines to mark, from 0.
        script: The same lines with everything that they need, to copy; may be empty.
    """

    where: str
    text: str
    marked: frozenset[int] = frozenset()
    script: str = ""

    def html(self) -> str:
        """Return the marked lines, and the whole script folded below them."""
        shown = block(self.text, self.marked)
        if not self.script:
            return shown
        summary = "the whole script: imports, helpers, inputs and these lines"
        script = block(self.script, colored=False)
        return f"{shown}\n{folded(summary, script)}"


@dataclasses.dataclass(frozen=True)
class Shown:
    """Programs, results and verdict, displayed as HTML or as plain text.

    `full` are the rows with all digits, folded below the table together with `detail`, the exact
    size of the largest difference. If a question has been `asked`, everything but the programs is
    folded, so that it does not give the answer away.
    """

    title: str
    programs: tuple[Program, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[TextRow, ...] = ()
    verdict: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # for plots
    measured: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # bytes, seconds
    full: tuple[TextRow, ...] = ()
    asked: bool = False
    detail: str = ""

    def _repr_html_(self) -> str:
        claim = f"<p>{prose(self.title)}</p>" if self.title else ""
        programs = ""
        if self.programs:
            code = [program.html() for program in self.programs]
            programs = table([program.where for program in self.programs], [code], width="50%")
        results = self._results()
        parts = [programs, folded("the results", claim + results)] if self.asked else [claim]
        parts += [] if self.asked else [programs, results]
        return "\n".join(filter(None, parts))

    def _results(self) -> str:
        """Return the table, all digits folded below it, and the verdict."""
        parts = []
        if self.rows:
            parts.append(table(self.columns, map(cells, self.rows)))
        if self.full or self.detail:
            detail = f"<p>{prose(self.detail)}</p>" if self.detail else ""
            rows = self.full or self.rows
            parts.append(folded("all digits", table(self.columns, map(cells, rows)) + detail))
        if self.verdict:
            color = _GREEN if self.verdict.startswith("✓") else _AMBER
            parts.append(f'<p style="color:{color}"><b>{prose(self.verdict)}</b></p>')
        return "\n".join(parts)

    def __repr__(self) -> str:
        rows = [f"  {row[0]}: {' | '.join(row[1:])}" for row in self.rows]
        return "\n".join(filter(None, [self.title, *rows, self.verdict, self.detail]))


@dataclasses.dataclass(frozen=True)
class Folded:
    """A question or a task whose answer is folded.

    Attributes:
        kind: "Predict" or "Exercise".
        text: The question or the task.
        summary: What the reader clicks on.
        answer: The answer as HTML.
        plain: The answer as text.
    """

    kind: str
    text: str
    summary: str
    answer: str
    plain: str

    def _repr_html_(self) -> str:
        return f"<p><b>{self.kind}.</b> {prose(self.text)}</p>\n{folded(self.summary, self.answer)}"

    def __repr__(self) -> str:
        return f"{self.kind}. {self.text}\n{self.plain}"


@dataclasses.dataclass(frozen=True)
class Task:
    """The task of an exercise, without its solution."""

    text: str

    def _repr_html_(self) -> str:
        return f"<p><b>Exercise.</b> {prose(self.text)}</p>"

    def __repr__(self) -> str:
        return f"Exercise. {self.text}"


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG that shrinks to the width of the page."""

    svg: str

    def _repr_svg_(self) -> str:
        fit = r'\1width="100%" style="max-width:\2px"'
        return re.sub(r'^(<svg [^>]*?)width="([\d.]+)" height="[\d.]+"', fit, self.svg, count=1)

    def __repr__(self) -> str:
        return re.sub(r"<[^>]*>", "", re.findall(r"<title.*?</title>", self.svg, re.DOTALL)[0])


def folded(summary: str, content: str) -> str:
    """Return content that a reader unfolds by a click on its summary."""
    return f"<details><summary>{summary}</summary>{content}</details>"


def prose(text: str) -> str:
    """Convert backticks and empty lines to HTML code and line breaks."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return text.replace("\n\n", "<br>")


def output(text: str) -> str:
    """Format what a program printed."""
    return f'<pre style="{_OUTPUT}">{html.escape(text.rstrip())}</pre>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], width: str = "") -> str:
    """Format HTML cells with attributes as well as styles, because GitHub removes styles."""
    place = f'align="left" valign="top" style="{_CELL}"' + (f' width="{width}"' if width else "")
    whole = ' width="100%"' if width else ""
    head = "".join(f"<th {place}>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td {place}>{cell}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse"{whole}>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def cells(row: Sequence[str]) -> list[str]:
    """Format a row; the last column (JAX without the tool) is bold if the value changes."""
    cells = [_inline(place(row[0])), *map(_inline, row[1:])]
    changed = len(row) > 4 and row[2] and row[4] != SAME  # measurements have no verdict sign
    return [*cells[:4], f"<b>{cells[4]}</b>"] if changed else cells


def place(path: str) -> str:
    """Name the place of a result as a reader would: "grads, l1.weight" for "grads/l1/weight".

    A layer and its parameter are joined by a dot, as torch joins them.
    """
    layer = re.sub(r"(?<![^/])([a-z]\w*)/(weight|bias)\b(?!/)", r"\1.\2", path)
    return layer.replace("/", ", ")


def _inline(text: str) -> str:
    words = html.escape(text)
    return words if text in (SAME, ZERO, *SIGNS.values(), "") else f"<code>{words}</code>"
