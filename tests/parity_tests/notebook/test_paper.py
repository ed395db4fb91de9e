"""The offline pages for printing have the text of the pages in docs/, and print as they do."""

import re

import pytest

from parity_tests.notebook import paper


A4 = (595, 842)


@pytest.mark.parametrize("name", paper.PAGES)
def test_the_committed_page_is_current(name):
    """`make pages` writes the offline pages after the pages that they are made of."""
    committed = (paper.FOLDER / f"{name}.html").read_text(encoding="utf-8")

    assert committed == paper.page(name), "run: make pages"


@pytest.mark.parametrize("name", paper.PAGES)
def test_a_page_is_one_offline_file(name):
    """It has the lines to write on and the code of the page in docs/, and refers to nothing."""
    source = paper.PAGES[name][0].read_text(encoding="utf-8")
    page = paper.page(name)

    assert page.count('<div class="write">') == source.count('<div class="write">')
    assert page.count("<pre>") == source.count("```") // 2
    assert not re.search(r"<a |src=|url\(|http", page)
    assert "make docs" not in page and "print dialog" in page


@pytest.mark.parametrize(
    ("name", "count"), [("worksheet", 8), ("assessment", 10), ("assessment_key", 6)]
)
def test_a_page_is_printed_on_upright_pages(browser, name, count):
    """A sheet of the worksheet has two pages, and the note for teachers is not printed."""
    tab = browser.new_page()
    tab.goto((paper.FOLDER / f"{name}.html").as_uri())
    printed = tab.pdf(prefer_css_page_size=True)
    tab.emulate_media(media="print")
    notes = tab.eval_on_selector_all(
        ".screen-only", "nodes => nodes.filter(node => node.offsetParent !== null).length"
    )
    tab.close()
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)", printed)

    assert [(round(float(w)), round(float(h))) for w, h in sizes] == [A4] * count
    assert notes == 0
