"""Every row of the catalogue of differences is covered, is another issue's, or says why not.

`catalogue.tsv` has a line a row: id, name, what it is about, and where. The last is empty for a row
that a case or an operator's record names (`source="P003"`). Else it is one of

- `test: FILE`, a test file that names the row,
- `issue N: what`, the work that it belongs to,
- `not covered: why`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from parity_tests import operators
from parity_tests.case import load
from parity_tests.runner.settings import ROOT


class Row(NamedTuple):
    id: str
    name: str
    about: str
    where: str


def rows() -> list[Row]:
    text = (ROOT / "parity_tests" / "tables" / "catalogue.tsv").read_text()
    return [Row(*line.split("\t")) for line in text.splitlines()]


def named() -> set[str]:
    """The rows that a case or an operator's record names."""
    sources = [" ".join(case.source) for case in load().values()]
    sources += [record.source for record in operators.load().values()]
    return set(re.findall(r"\bP\d{3}\b", " ".join(sources)))


ROWS = rows()
NAMED = named()


def problem(row: Row, named: set[str]) -> str:
    """What is wrong with a line, or ""."""
    kind, _, rest = row.where.partition(": ")
    if row.id in named:
        stale = row.where.startswith("not covered")
        return "a case names it: leave out why it is not covered" if stale else ""
    if not row.where:
        return f"no case and no operator names it; write one with source={row.id!r}, or say why not"
    if kind == "test":
        path = ROOT / rest
        if not path.is_file():
            return f"{rest} is no file"
        return "" if row.id in path.read_text() else f"{rest} does not name it"
    known = kind == "not covered" or re.fullmatch(r"issue [4-9]", kind)
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
        ("", set(), "no case and no operator names it"),
        ("not covered: no GPU", {"P003"}, "leave out why"),
        ("test: parity_tests/missing.py", set(), "is no file"),
        ("test: tests/conftest.py", set(), "does not name it"),
        ("later", set(), "neither an issue nor a reason"),
        ("not covered: ", set(), "neither an issue nor a reason"),
    ),
)
def test_that_a_line_can_be_wrong(where, named, words):
    assert words in problem(Row("P003", "abs0", "|x| at 0", where), named)
