"""Every row of the catalogue of differences is covered by a test or says why it is not.

Each line of `catalogue.tsv` has an id, a name, a description and the place that covers it. The
place is empty for a row that a case or an operator's record names (`source="P003"`). Otherwise it
is one of

- `test: FILE`, a test file that names the row,
- `issue N: ...`, the issue that will cover it,
- `not covered: ...`, with the reason.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from parity_tests import operators
from parity_tests.case import load
from parity_tests.runner.settings import ROOT


class CatalogueRow(NamedTuple):
    id: str
    name: str
    about: str
    where: str


def rows() -> list[CatalogueRow]:
    text = (ROOT / "parity_tests" / "tables" / "catalogue.tsv").read_text()
    return [CatalogueRow(*line.split("\t")) for line in text.splitlines()]


def named() -> set[str]:
    """Return the rows that a case or an operator's record names."""
    sources = [" ".join(case.source) for case in load().values()]
    sources += [record.source for record in operators.load().values()]
    return set(re.findall(r"\bP\d{3}\b", " ".join(sources)))


ROWS = rows()
NAMED = named()


def problem(row: CatalogueRow, named: set[str]) -> str:
    """Return the error in a line of the catalogue, or ""."""
    category, _, rest = row.where.partition(": ")
    if row.id in named:
        stale = row.where.startswith("not covered")
        return "a case names it, so remove the reason why it is not covered" if stale else ""
    if not row.where:
        return f"no case or operator names it; add one with source={row.id!r}, or state why not"
    if category == "test":
        path = ROOT / rest
        if not path.is_file():
            return f"{rest} is not a file"
        return "" if row.id in path.read_text() else f"{rest} does not name it"
    known = category == "not covered" or re.fullmatch(r"issue [4-9]", category)
    return "" if known and len(rest) > 3 else f"{row.where!r} is neither an issue nor a reason"


def test_every_row_is_listed_once():
    assert [row.id for row in ROWS] == [f"P{n:03}" for n in range(1, 214)]
    assert all(row.name and row.about for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_every_row_is_covered_or_says_why_not(row):
    assert not problem(row, NAMED), f"{row.id} ({row.about}): {problem(row, NAMED)}"


def test_sources_are_rows():
    assert {row.id for row in ROWS} >= NAMED


@pytest.mark.parametrize(
    "where, named, words",
    (
        ("", set(), "no case or operator names it"),
        ("not covered: no GPU", {"P003"}, "remove the reason"),
        ("test: parity_tests/missing.py", set(), "is not a file"),
        ("test: tests/conftest.py", set(), "does not name it"),
        ("later", set(), "neither an issue nor a reason"),
        ("not covered: ", set(), "neither an issue nor a reason"),
    ),
)
def test_an_invalid_line_is_reported(where, named, words):
    assert words in problem(CatalogueRow("P003", "abs0", "|x| at 0", where), named)
