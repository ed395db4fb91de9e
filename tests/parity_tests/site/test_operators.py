"""The page of operators is split by room without losing a row."""

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
    """Every line of a table of docs/operators.md is on exactly one page of the site."""
    text = (ROOT / "docs" / "operators.md").read_text()
    split = "\n".join(operators.pages(text).values()).splitlines()

    assert sorted(line for line in split if line.startswith("|")) == sorted(
        line for line in text.splitlines() if line.startswith("|")
    )
