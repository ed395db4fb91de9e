"""The page of operators is split by room without losing a row."""

import re

from parity_tests.runner.settings import ROOT
from parity_tests.site import operators


PAGE = """# Operators

Text.

**loss** [l1](#l1)

**nn** [a.b](#ab) · [c](#c)

## a.b

rows of a.b

## c

rows of c

## l1

rows of l1
"""


def test_each_room_has_its_operators():
    """A room's page has its operators' sections, and the index links to them."""
    pages = operators.pages(PAGE)

    assert set(pages) == {"operators/index.md", "operators/loss.md", "operators/nn.md"}
    assert pages["operators/nn.md"].startswith("# nn\n\n## a.b\n\nrows of a.b\n")
    assert "rows of c" in pages["operators/nn.md"]
    assert "[c](nn.md#c)" in pages["operators/index.md"]
    assert "**[loss](loss.md)** [l1](loss.md#l1)" in pages["operators/index.md"]


def test_no_row_is_lost():
    """Every row of docs/operators.md is on exactly one page of the site, and no cell is empty."""
    text = (ROOT / "docs" / "operators.md").read_text()
    split = "\n".join(operators.pages(text).values())
    rows = [sorted(re.findall(r"^\| (?!at|---).*$", page, re.MULTILINE)) for page in (text, split)]

    assert rows[0] == rows[1] and len(rows[0]) > 200
    assert [row for row in rows[0] if "|  |" in row] == []


def test_kinks_come_first():
    """Rows at NaN are folded below the others, and operators with only such rows are last."""
    room = operators.pages((ROOT / "docs" / "operators.md").read_text())["operators/activation.md"]
    first, _, last = room.partition(operators.LAST)
    relu = first.partition("## relu\n")[2].partition("\n## ")[0]

    assert "### elu\n" in last and "## leaky_relu\n" in first
    assert relu.index("| `0`, `-0` |") < relu.index("<details>") < relu.index("| `nan` |")
    assert relu.count("<details>") == 1 and "| `nan` |" not in relu.partition("<details>")[0]
