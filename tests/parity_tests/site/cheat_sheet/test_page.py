"""The committed cheat sheet has every row, in order, and its cells are Python."""

import html
import re

import numpy as np
import pytest
import torch

from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT
from parity_tests.site.cheat_sheet import page
from parity_tests.site.cheat_sheet.row import Row


def test_the_page_has_every_row_in_order():
    """The committed page lists the rows in the order of the modules, under their headings."""
    text = page.PATH.read_text()

    assert re.findall(r"^\| \*\*(.*?)\*\*<br>", text, re.MULTILINE) == [r.name for r in page.ROWS]
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == list(page.SECTIONS)


def test_the_page_begins_with_its_parts_and_a_legend():
    """A reader finds each part by a link, and each column and mark of the tables explained."""
    intro = page.PATH.read_text().partition("\n## ")[0]

    for title in page.SECTIONS:
        assert f"[{title}](#{slug(title)})" in intro
    assert re.findall(r"^\| \*\*(.*?)\*\*", intro, re.MULTILINE) == list(page.LEGEND)
    assert page.CROSS.strip() in intro and page.LABEL.strip("*:") in intro


def test_a_row_has_three_cells():
    """The name is above torch's code, a helper below plain JAX, the results below the trap."""
    row = Row(name="`a`", torch="t", jax="j", jaxgrad="h", wrong="w", trap="No.")
    bare = Row(name="b", torch="t", jaxgrad="h", trap="No.")

    assert page.line(row, np.float32(1), np.float32(2)) == (
        "| **`a`**<br>`t` | `j`<br>*with jaxgrad:*<br>`h` | ✗ `w`<br>gives 2, torch 1<br>No. |"
    )
    assert page.line(bare, None, None) == "| **b**<br>`t` | *with jaxgrad:*<br>`h` | No. |"
    assert "gives" not in page.line(row, np.zeros(9), np.zeros(9))


def test_the_rows_are_distinct_and_have_a_trap():
    """Each row has a name of its own and a sentence, and is short enough for a cell."""
    assert len({row.name for row in page.ROWS}) == len(page.ROWS)
    for row in page.ROWS:
        assert row.trap.endswith("."), row.name
        for code in (row.torch, row.jax, row.jaxgrad, row.wrong):
            assert len(code.splitlines()) <= 4, row.name
            assert all(len(line) <= 90 for line in code.splitlines()), row.name


def test_the_readme_links_to_the_cheat_sheet():
    """The README and the start page of the site link to the page."""
    assert "](docs/cheat_sheet.md)" in (ROOT / "README.md").read_text()
    assert "](cheat_sheet.md)" in (ROOT / "docs" / "index.md").read_text()


def test_a_number_is_short():
    """Numbers are rounded, rounding errors around zero are 0, and long results are left out."""
    assert page.number(np.array([1e-9, 2, np.nan], np.float32)) == "[0, 2, nan]"
    assert page.number(np.float32(0.5)) == "0.5"
    assert page.number((None, np.zeros(1))) == "None, [0]"
    assert page.number(np.zeros(9)) == ""


def test_code_keeps_its_indentation():
    """An indented line of a cell is indented by spaces that browsers keep."""
    assert page.code("if a:\n  b") == "`if a:`<br>&nbsp;&nbsp;`b`"
    assert page.code("") == ""


def test_the_site_wraps_code_at_punctuation():
    """Each line of code is a block of its own, and a name in it has no point to wrap at."""
    name = "**`a` is**<br>`if a:`<br>&nbsp;&nbsp;`b.cd(e < 1)`"
    table = f"| {name} | ✗ `d`<br>`e`<br>gives 1<br>Say `c`. |"
    (line,) = page.within_site(table).splitlines()[-1:]

    assert line == (
        """| **{html}`<code>a</code>` is**{html}`<code class="line">if a:</code>`"""
        """{html}`<code class="line" style="margin-left: 2ch">b<wbr>.cd(<wbr>e &lt; 1)</code>`"""
        """ | {html}`<code class="line wrong">d</code>`{html}`<code class="line">e</code>`"""
        """gives 1<br>Say `c`. |"""
    )


def test_the_site_has_every_line_of_code():
    """Without its tags the page of the site has the code of each row, character by character."""
    site = html.unescape(page.within_site(page.PATH.read_text()).replace("<wbr>", ""))
    shown = re.findall(r"<code class=\"line[^>]*>(.*?)</code>`", site)
    cells = [
        line.lstrip()
        for row in page.ROWS
        for code in (row.torch, row.jax, row.jaxgrad, row.wrong)
        for line in code.splitlines()
    ]
    assert shown == cells


@pytest.mark.parametrize("decay", [1e-4, 0.1])
def test_adam_moves_a_weight_with_a_zero_gradient_by_about_its_learning_rate(decay):
    """However small the weight decay is: Adam divides it by its own root mean square."""
    weight = torch.nn.Parameter(torch.tensor(3.0, dtype=torch.float64))
    adam = torch.optim.Adam([weight], lr=0.1, weight_decay=decay)
    weight.grad = torch.zeros_like(weight)
    for _ in range(10):
        adam.step()

    assert 3 - 10 * 0.1 <= weight.item() <= 3 - 9 * 0.1
    assert "by about the learning rate in each step" in page.PATH.read_text()
