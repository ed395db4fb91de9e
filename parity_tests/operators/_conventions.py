"""The conventions table: where the natural JAX form of an operator has another gradient.

    python -m parity_tests --conventions [OPERATOR ...] [--markdown FILE] [--html FILE]

Each row is measured in the run; the suite compares them with the table that is written down.
"""

import fnmatch
import html
import sys
from collections.abc import Iterable, Sequence

from parity_tests.operators import Operator, load
from parity_tests.operators._grid import Outcome, Row, check
from parity_tests.settings import ROOT


PAGE = ROOT / "docs" / "operators.md"
HEAD = ("operator", "natural JAX form", "argument", "at", "torch's gradient", "JAX's", "remedy")
TITLE = "# Operators: torch's gradient and that of the natural JAX form"
INTRO = """\
Points at which a gradient differs: each row is measured by the suite, which fails when either
library moves. The cotangent is ones, or 1, 2, 3, ... where elements depend on each other.
Written by `python -m parity_tests --conventions --markdown docs/operators.md`."""


def main(patterns: Sequence[str], markdown: str | None, page: str | None) -> int:
    """Measure the table, write or print it; the exit status."""
    chosen = [made for made in load().values() if _matches(made, patterns)]
    if not chosen:
        print(f"no operator matches {' '.join(patterns)}", file=sys.stderr)
        return 5
    outcomes = {made.name: check(made) for made in chosen}
    rows = table(outcomes.values())
    for path, text in ((markdown, as_markdown(rows)), (page, as_html(rows))):
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if not markdown and not page:
        print(as_markdown(rows))
    for name, outcome in outcomes.items():
        for problem in outcome.problems:
            print(f"{name}: {problem}", file=sys.stderr)
    return int(any(outcome.problems for outcome in outcomes.values()))


def _matches(made: Operator, patterns: Sequence[str]) -> bool:
    return not patterns or any(made.family == p or fnmatch.fnmatch(made.name, p) for p in patterns)


def table(outcomes: Iterable[Outcome]) -> list[Row]:
    """The rows of every operator, in order."""
    return sorted(row for outcome in outcomes for row in outcome.rows)


def cells(row: Row) -> tuple[str, ...]:
    """A row as it is printed."""
    call = row.call.removeprefix("(…").removesuffix(")").strip(", ")
    at = row.point + (f" with {call}" if call.replace("…", "").strip(", ") else "")
    return (
        row.operator, row.form, row.by, at, row.torch, row.jax,
        f"jaxgrad.functional.{row.operator}",
    )  # fmt: skip


def line(row: Row) -> str:
    """A row of the markdown table."""
    return "| " + " | ".join(f"`{c}`" if c else "" for c in cells(row)).replace("||", "or") + " |"


def as_markdown(rows: Sequence[Row]) -> str:
    head = f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}"
    body = "\n".join(line(row) for row in rows)
    return f"---\norphan: true\n---\n\n{TITLE}\n\n{INTRO}\n\n{head}\n{body}\n"


def as_html(rows: Sequence[Row]) -> str:
    """One offline page with a field that filters."""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in HEAD)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells(row)) + "</tr>" for row in rows
    )
    return f"""<!doctype html><html lang="en"><meta charset="utf-8">
<title>jaxgrad: operators</title>
<style>body{{font:15px system-ui;margin:2em}}td,th{{padding:.2em .6em;text-align:left;
border-bottom:1px solid #8884;font-family:ui-monospace,monospace}}</style>
<h1>{TITLE[2:]}</h1><input id="find" placeholder="operator" autofocus>
<table><thead><tr>{head}</tr></thead><tbody>
{body}
</tbody></table><script>
find.oninput = () => {{ for (const row of document.querySelectorAll("tbody tr"))
  row.hidden = !row.textContent.toLowerCase().includes(find.value.toLowerCase()); }};
</script></html>
"""
