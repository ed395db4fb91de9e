"""The offline pages for printing have the text of the pages in docs/, and print as they do."""

import re

import pytest

from parity_tests.notebook import paper
from tests._browser import divided


A4 = (595, 842)


@pytest.mark.parametrize("name", paper.PAGES)
def test_the_committed_page_is_current(name):
    """`make pages` writes the offline pages after the pages that they are made of."""
    committed = (paper.FOLDER / f"{name}.html").read_text(encoding="utf-8")

    assert committed == paper.page(name), "run: make pages"


@pytest.mark.parametrize("name", paper.PAGES)
def test_a_page_is_one_offline_file(name):
    """It has the lines to write on and the code of the page in docs/, and refers to nothing."""
    path, _, section = paper.PAGES[name]
    source = paper.only(section, path.read_text(encoding="utf-8"))
    page = paper.page(name)

    assert page.count('<div class="write">') == source.count('<div class="write">')
    assert page.count("<pre>") == source.count("```") // 2
    assert not re.search(r"<a |src=|url\(|http", page)
    assert "make docs" not in page and "print dialog" in page


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("worksheet", 8),
        ("one_lesson_handout", 4),
        ("assessment", 8),
        ("assessment_second", 4),
        ("assessment_key", 6),
        ("assessment_second_key", 3),
        ("assessment_b", 8),
        ("assessment_b_key", 6),
    ],
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


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("worksheet", "h3"),
        ("one_lesson_handout", "h3"),
        ("assessment", "h4"),
        ("assessment_second", "h4"),
        ("assessment_key", "h4"),
        ("assessment_second_key", "h4"),
        ("assessment_b", "h4"),
        ("assessment_b_key", "h4"),
    ],
)
def test_no_question_or_answer_is_divided(browser, name, heading):
    """The text under each heading is printed on one page."""
    tab = browser.new_page()
    tab.goto((paper.FOLDER / f"{name}.html").as_uri())
    cut = divided(tab, heading)
    tab.close()

    assert cut == []


def test_each_test_is_printed_by_itself():
    """The files of the first test have no question or answer of the second, and conversely."""
    for first, second in (
        ("assessment", "assessment_second"),
        ("assessment_key", "assessment_second_key"),
    ):
        numbers = [
            [int(n) for n in re.findall(r"<h4>(?:Question|Answer) (\d+)</h4>", paper.page(name))]
            for name in (first, second)
        ]
        assert numbers == [list(range(1, 17)), list(range(17, 24))]


def test_a_divided_question_is_found(browser):
    """The negative control: without the rule of the print style, questions are divided."""
    tab = browser.new_page()
    tab.goto((paper.FOLDER / "assessment.html").as_uri())
    tab.add_style_tag(content="section { break-inside: auto !important; }")
    cut = divided(tab, "h4")
    tab.close()

    assert cut and all(name.startswith("Question ") for name in cut)


def test_sections_are_nested_as_their_headings():
    """A page break belongs to the heading after it; text before all headings is in no section."""
    body = '<p>x</p><h2>A</h2><h4>B</h4><div class="break-page"></div>\n<h3>C</h3><h2>D</h2>'

    assert paper.sections(body) == (
        "<p>x</p><section><h2>A</h2><section><h4>B</h4></section>"
        '<section><div class="break-page"></div>\n<h3>C</h3></section></section>'
        "<section><h2>D</h2></section>"
    )
    assert paper.sections("<p>x</p>") == "<p>x</p>"
