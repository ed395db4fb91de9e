"""Write docs/cheat_sheet.md: `python -m parity_tests.site.cheat_sheet.page`.

The page is committed, so that the README can link to it; a test runs each row and compares its
line.
"""

import html
import pathlib
import re
from typing import Any

import jax
import numpy as np

from parity_tests.report.slug import slug
from parity_tests.site.api import table
from parity_tests.site.cheat_sheet import backward, operators, stopping, training
from parity_tests.site.cheat_sheet.row import Row, jax_result, torch_result


PATH = pathlib.Path(__file__).resolve().parents[3] / "docs" / "cheat_sheet.md"
SECTIONS = {
    "Stop, freeze, None": stopping.ROWS,
    "Backward, hooks, higher order": backward.ROWS,
    "Operators": operators.ROWS,
    "Training": training.ROWS,
}
ROWS = tuple(row for rows in SECTIONS.values() for row in rows)
LEGEND = {  # the columns
    "torch": "what you look for, and its code. The last line is a loss, and the gradient is taken "
    "with respect to `x`, unless the code says more",
    "JAX": "code with the same gradient or result: in plain JAX if there is a short form, and "
    "*with jaxgrad* if there is a helper. `functional` and `optim` are `jaxgrad.functional` and "
    "`jaxgrad.optim`",
    "the trap": "✗ marks code that looks right and is not. Under it are its gradient or result, "
    "and torch's",
}
LABEL = "*with jaxgrad:*"
CROSS = "✗ "  # before code that looks right and is not
_ROLE = "```{eval-rst}\n.. role:: html(raw)\n   :format: html\n```\n"
_LINE = re.compile(rf"(?P<cross>{CROSS})?(?P<margin>(?:&nbsp;)*)`(?P<code>[^`]+)`")
# Before an argument, a long value of a keyword, or an attribute.
_POINTS = re.compile(r"(?<=[(\[{])(?=[^)\]}])|(?<=\w=)(?=\w{4})|(?=\.[^\W\d])")
_LONG = re.compile(r"\w{30,}")  # a name that is wider than a column
SMALL = 4  # results of more numbers are not printed
INTRO = """\
<!-- written by `make pages` -->
# Cheat sheet

How a torch line is written in JAX. {sections}

{legend}

A test runs every cell. [Traps](traps.md) shows what `prove` reports for mistakes like these.
"""


def text() -> str:
    """Return the page."""
    links = " · ".join(f"[{title}](#{slug(title)})" for title in SECTIONS)
    legend = table(("column", "what it has"), [(f"**{name}**", x) for name, x in LEGEND.items()])
    parts = [INTRO.strip().format(sections=links, legend=legend)]
    for title, rows in SECTIONS.items():
        head = table([*LEGEND], [])
        lines = [
            line(row, torch_result(row), jax_result(row, row.wrong or "0 * x")) for row in rows
        ]
        parts += [f"## {title}", "\n".join([head, *lines])]
    return "\n\n".join([*parts, ""])


def line(row: Row, torch: Any, wrong: Any) -> str:
    """Return a row's line of the table, given torch's result and that of the wrong program."""
    trap = row.trap
    if row.wrong:
        results = [f"gives {number(wrong)}, torch {number(torch)}"] if number(torch) else []
        trap = "<br>".join([CROSS + code(row.wrong), *results, row.trap])
    jax = [code(row.jax)] if row.jax else []
    if row.jaxgrad:
        jax += [LABEL, code(row.jaxgrad)]
    cells = [f"**{row.name}**<br>{code(row.torch)}", "<br>".join(jax), trap]
    return table(cells, []).splitlines()[0]


def code(text: str) -> str:
    """Format lines of code in a cell of a table."""
    lines = text.splitlines()
    margins = ["&nbsp;" * min(4, len(line) - len(line.lstrip())) for line in lines]
    return "<br>".join(f"{m}`{line.lstrip()}`" for m, line in zip(margins, lines, strict=True))


def within_site(text: str) -> str:
    """Return the page with a block for each line of code, which is wrapped with a hanging indent.

    GitHub shows the code as it is; the site wraps it at spaces and punctuation, not inside names.
    """
    rows = [_row(line) if line.startswith("| **") else line for line in text.split("\n")]
    return "\n".join([_ROLE, *rows])


def _row(line: str) -> str:
    return f"| {' | '.join(map(_cell, line[2:-2].split(' | ')))} |"


def _cell(text: str) -> str:
    """Return a cell with its lines of code as HTML."""
    cell = ""
    for part in text.split("<br>"):
        line = _LINE.fullmatch(part)
        begins = not cell or cell.endswith("</code>`")
        cell += _block(line) if line else _text(part) if begins else f"<br>{_text(part)}"
    return cell


def _text(part: str) -> str:
    """Return a line that is not code; code in a row's name is HTML, as that of the other lines."""
    if not part.startswith("**"):
        return part
    return re.sub("`([^`]+)`", lambda match: _html(match[1], "<code>"), part)


def _block(line: re.Match[str]) -> str:
    """Return a line of code as HTML, with the points at which it may be wrapped."""
    margin = line["margin"].count("&nbsp;")
    style = f' style="margin-left: {margin}ch"' if margin else ""
    kind = "line wrong" if line["cross"] else "line"
    return _html(line["code"], f'<code class="{kind}"{style}>')


def _html(code: str, tag: str) -> str:
    """Return code as HTML, with the points at which a browser may wrap it."""
    words = "<wbr>".join(html.escape(part, quote=False) for part in _POINTS.split(code))
    words = _LONG.sub(lambda name: name[0].replace("_", "_<wbr>"), words)
    return f"{{html}}`{tag}{words}</code>`"


def number(result: Any) -> str:
    """Format a result with few digits, or return nothing if it has many numbers."""
    leaves = jax.tree.leaves(result, is_leaf=lambda leaf: leaf is None)
    if sum(np.size(leaf) for leaf in leaves) > SMALL:
        return ""
    return ", ".join("None" if leaf is None else _array(np.asarray(leaf)) for leaf in leaves)


def _array(x: np.ndarray) -> str:
    scale = np.max(np.abs(x), where=np.isfinite(x), initial=0.0)
    rounded = np.where(np.abs(x) < 1e-5 * scale, 0.0, x)
    texts = [f"{value + 0.0:.5g}" for value in rounded.ravel()]
    return texts[0] if x.ndim == 0 else f"[{', '.join(texts)}]"


if __name__ == "__main__":
    from parity_tests.runner.settings import configure

    configure()
    PATH.write_text(text(), encoding="utf-8")
