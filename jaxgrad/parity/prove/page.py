"""Render reports as one HTML page that works offline."""

from __future__ import annotations

import collections
import dataclasses
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxgrad.parity.prove import excerpt
from jaxgrad.parity.prove.text import clauses, counted, distinct, number, value


if TYPE_CHECKING:
    import jinja2

SIGNS = {"pass": "✓", "fail": "✗", "inconclusive": "?", "error": "!", "not judged": "–"}
START = "gradient in JAX only (start of the wrong path)"
UNRECORDED = "no gradient in torch"
ROWS_SHOWN = 12
CHAIN_SHOWN = 6  # modules that matched before the fault
_OPTIONAL = {"index": (), "torch": None, "jax": None}  # a row need not have these
_TEMPLATE = pathlib.Path(__file__).with_name("page.html.j2")
_STYLE = pathlib.Path(__file__).with_name("page.css")


def fill(reports: Sequence[Any], headline: str, words: Mapping[str, Any]) -> str:
    """Fill the template of the page with reports.

    Args:
        reports: Results of `prove`.
        headline: The sentence at the top.
        words: Texts, and functions from a report to a text, that the template uses by name.
    """
    return template(_TEMPLATE).render(
        **words,
        reports=[_with_complete_rows(report) for report in reports],
        headline=headline,
        clauses=clauses,
        counted=counted,
        ordered=ordered,
        number=number,
        value=value,
        shown_value=shown_value,
        distinct=distinct,
        signs=SIGNS,
        chain=CHAIN_SHOWN,
        folded=folded,
        verdict_of=verdict_of,
        counts=counts,
        start=START,
        unrecorded=UNRECORDED,
        groups=groups,
        listed=listed,
        excerpt=excerpt.parts,
    )


def template(path: pathlib.Path) -> jinja2.Template:
    """Load a template that HTML-escapes every inserted value."""
    try:
        import jinja2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the HTML page is written with jinja2, which is not installed; run: pip install jinja2"
        ) from error
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["css"] = _STYLE.read_text(encoding="utf-8")
    return environment.from_string(path.read_text(encoding="utf-8"))


def _with_complete_rows(report: Any) -> Any:
    """Add to the rows of a report what the schema does not require, such as both values."""
    surfaces = {
        name: dataclasses.replace(surface, rows=tuple(_OPTIONAL | dict(r) for r in surface.rows))
        for name, surface in report.surfaces.items()
    }
    return dataclasses.replace(report, surfaces=surfaces)


def listed(report: Any) -> str:
    """Name the listings of a report; those of a wrong update may be the optimizers'."""
    if any(listing.marked for listing in report.listings.values()):
        return "both programs, with the lines that it names marked"
    is_update = report.first is not None and report.first.surface == "updates"
    return "the programs of the update" if is_update else "both programs"


def ordered(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Sort the rows of a surface: failing rows first, then by decreasing difference.

    Differences far below what is allowed are rounding, which each processor does in its own way:
    such rows keep their order.
    """

    def key(row: Mapping[str, Any]) -> tuple[bool, float]:
        difference = _finite(row.get("difference"))
        allowed = row.get("allowed")
        is_rounding = allowed is not None and difference <= allowed / 100
        return row.get("verdict") != "fail", 0.0 if is_rounding else -difference

    return sorted(rows, key=key)


def verdict_of(row: Mapping[str, Any], first: Any) -> str:
    """Return the verdict of a row in words; "harmless" rows have several reasons.

    Args:
        row: A row of a surface.
        first: The first divergence, or None.
    """
    if row["verdict"] != "harmless" or row["torch"] is not None:
        return str(row["verdict"])
    place = row["name"].rpartition(", ")[2]  # file:line (operation) in the port
    named = "" if first is None else f" {first.jax} {first.cause}"
    return START if ":" in place and f" {place}" in named else UNRECORDED


def counts(rows: Sequence[Mapping[str, Any]], first: Any) -> dict[str, int]:
    """Count the rows of a surface by their verdicts in words."""
    return dict(collections.Counter(verdict_of(row, first) for row in rows))


def groups(
    rows: Sequence[Mapping[str, Any]], is_backward: bool
) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Split the rows of a surface into tables with titles; a table with a title is folded.

    In a table with a failing row those that pass are folded: the first ones of the backward pass,
    whose order stays, or all of another surface.
    """
    other = next((k for k, row in enumerate(rows) if row["verdict"] != "pass"), len(rows))
    if not any(row["verdict"] == "fail" for row in rows):
        parts = [("", rows)]
    elif is_backward:
        nearest = f"{other} nearest to the loss: pass"
        parts = [(nearest if other else "", rows[:other]), ("", rows[other:])]
    else:
        rest = [row for row in rows if row["verdict"] == "pass"]
        shown = [row for row in rows if row["verdict"] != "pass"]
        parts = [("", shown), (f"{len(rest)} more: pass", rest)]
    tables = []
    for title, part in parts:
        shown = part if title else part[:ROWS_SHOWN]
        more = part[len(shown) :]
        tables += [(title, shown), (f"{len(more)} more", more)]
    return [(title, part) for title, part in tables if part]


def folded(surfaces: Mapping[str, Any]) -> list[Any]:
    """Sort the surfaces: failing and undecided ones first."""
    return sorted(surfaces.values(), key=lambda surface: surface.verdict in ("pass", "not judged"))


def shown_value(row: Mapping[str, Any], framework: str, other: str) -> str:
    """Format a value of a row; "None" if only the other framework has a value."""
    x, y = row[framework], row[other]
    if x is None and y is not None:
        return "None"
    return distinct(x, y if row["verdict"] == "fail" else None)


def _finite(x: Any) -> float:
    return x if isinstance(x, float | int) and math.isfinite(x) else math.inf
