"""Objects that a notebook displays, formatted by HTML attributes and inline styles.

GitHub removes style sheets from notebooks.
"""

import dataclasses
import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from parity_tests.report.rows import SAME, ZERO, TextRow
from parity_tests.report.source_text import fold
from parity_tests.report.text import SIGNS


_GREEN, _AMBER = "#1f883d", "#9a6700"  # readable on white and on black
_CELL = "text-align:left;vertical-align:top;padding:4px 10px"
_CODE = (
    "text-align:left;white-space:pre-wrap;font-family:ui-monospace,monospace;font-size:12px;"
    "line-height:1.45;margin:0"
)


@dataclasses.dataclass(frozen=True)
class Shown:
    """Programs, results and verdict, displayed as HTML or as plain text."""

    title: str
    sources: tuple[tuple[str, str], ...] = ()  # the file, and the source text of the program
    columns: tuple[str, ...] = ()
    rows: tuple[TextRow, ...] = ()
    verdict: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # for plots
    measured: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # bytes, seconds

    def _repr_html_(self) -> str:
        parts = [f"<p>{_prose(self.title)}</p>"]
        if self.sources:
            folded = [html.escape(fold(text)) for _, text in self.sources]
            code = [f'<pre style="{_CODE}">{text}</pre>' for text in folded]
            parts.append(_table([where for where, _ in self.sources], [code], width="50%"))
        if self.rows:
            parts.append(_table(self.columns, [_cells(row) for row in self.rows]))
        if self.verdict:
            color = _GREEN if self.verdict.startswith("✓") else _AMBER
            parts.append(f'<p style="color:{color}"><b>{_prose(self.verdict)}</b></p>')
        return "\n".join(parts)

    def __repr__(self) -> str:
        rows = [f"  {row[0]}: {' | '.join(row[1:])}" for row in self.rows]
        return "\n".join(filter(None, [self.title, *rows, self.verdict]))


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG that shrinks to the width of the page."""

    svg: str

    def _repr_svg_(self) -> str:
        fit = r'width="100%" style="max-width:\1px"'
        return re.sub(r'width="([\d.]+)" height="[\d.]+"', fit, self.svg, count=1)

    def __repr__(self) -> str:
        return re.sub(r"<[^>]*>", "", re.findall(r"<title.*?</title>", self.svg, re.DOTALL)[0])


def _prose(text: str) -> str:
    """Convert backticks and empty lines to HTML code and line breaks."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return text.replace("\n\n", "<br>")


def _cells(row: Sequence[str]) -> list[str]:
    """Format a row; the last column (JAX without the tool) is bold if the value changes."""
    cells = [_inline(text) for text in row]
    changed = len(row) > 4 and row[2] and row[4] != SAME  # measurements have no verdict sign
    return [*cells[:4], f"<b>{cells[4]}</b>"] if changed else cells


def _inline(text: str) -> str:
    words = html.escape(text)
    return words if text in (SAME, ZERO, *SIGNS.values(), "") else f"<code>{words}</code>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: str = "") -> str:
    """Format an HTML table with attributes as well as styles, because GitHub removes styles."""
    place = f'align="left" valign="top" style="{_CELL}"' + (f' width="{width}"' if width else "")
    whole = ' width="100%"' if width else ""
    head = "".join(f"<th {place}>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td {place}>{cell}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return (
        f'<table style="border-collapse:collapse"{whole}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table>"
    )
