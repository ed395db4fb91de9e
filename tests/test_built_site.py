"""The built site in a real browser: `make docs`, then `make docs-test`.

Without the environment variable SITE, which names the built folder, nothing runs.
"""

import io
import os
import pathlib
import re

import pytest

from tests._browser import WIDTHS, listen, low_contrast, unreached, wide


SITE = pathlib.Path(os.environ.get("SITE", ""))
GENERATED = {"genindex", "py-modindex", "search"}


def names() -> list[str]:
    """Return every page of the site; the single files in _static have tests of their own."""
    if "SITE" not in os.environ:
        return []
    pages = (path.relative_to(SITE).with_suffix("") for path in SITE.rglob("*.html"))
    own = [page for page in pages if page.parts[0] != "_static" and page.name not in GENERATED]
    return sorted(page.as_posix() for page in own)


PAGES = names()
A4 = (595, 842)  # in points
pytestmark = pytest.mark.skipif("SITE" not in os.environ, reason="make docs-test sets SITE")


@pytest.fixture(scope="module")
def open_page(browser):
    """Return a function that opens a page of the site; nothing may be logged or fetched."""
    heard: list[str] = []

    def open_page(name, width, scheme="light"):
        tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        listen(tab, heard)
        tab.goto((SITE.resolve() / f"{name}.html").as_uri())
        tab.add_style_tag(content="* { transition: none !important }")
        tab.wait_for_timeout(200)  # the theme is chosen by a script
        return tab

    yield open_page
    assert heard == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_screen(open_page, name):
    """A page does not scroll sideways on a phone, a laptop or a wide screen."""
    tab = open_page(name, WIDTHS[0])
    too_wide = [text for width in WIDTHS for text in wide(tab, width)]
    tab.close()

    assert too_wide == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_can_be_read(open_page, name, scheme):
    """Text has a contrast of at least 4.5 to 1, or 3 to 1 if it is large."""
    tab = open_page(name, 1280, scheme)
    low = low_contrast(tab)
    tab.close()

    assert low == []


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_everything(open_page, name):
    """Tab gives each link, button and field the focus, and the focus is visible."""
    tab = open_page(name, 1280)
    missed = unreached(tab)
    tab.close()

    assert missed == []


# The parts of code in tables that are on two lines, though neither a separator nor a capital of a
# long name is within them.
_BROKEN = """() => {
  const broken = [];
  for (const code of document.querySelectorAll(".bd-article table td code")) {
    if (!code.checkVisibility()) continue;
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode()); ) {
      for (const word of node.data.matchAll(/[A-Z]*[a-z0-9]+|[A-Z]+/g)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) broken.push(`${word[0]} in ${code.textContent}`);
      }
    }
  }
  return broken;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_code_in_a_table_is_broken_between_words_on_a_phone(open_page, name):
    """At 390 pixels inline code in a table continues on the next line after a whole word."""
    tab = open_page(name, 390)
    broken = tab.evaluate(_BROKEN)
    tab.close()

    assert broken == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_formula_has_the_distance_of_a_paragraph(open_page, width):
    """A formula of its own touches neither the text above it nor the text below it."""
    tab = open_page("tape_or_transform", width)
    gaps = tab.evaluate("""() => [...document.querySelectorAll("math[display=block]")].flatMap(
      (formula) => {
        const box = formula.getBoundingClientRect();
        const above = formula.previousElementSibling.getBoundingClientRect();
        const below = formula.nextElementSibling.getBoundingClientRect();
        return [box.top - above.bottom, below.top - box.bottom];
      })""")
    tab.close()

    assert gaps and min(gaps) >= 12, f"the smallest distance is {min(gaps)} pixels"


def test_programs_are_side_by_side_on_a_laptop(open_page):
    """At 1280 pixels the torch and the JAX program of a behaviour are beside each other."""
    tab = open_page("behaviours/grad_modes", 1280)
    boxes = tab.locator(".side-by-side").first.locator("> div")
    left, right = boxes.nth(0).bounding_box(), boxes.nth(1).bounding_box()
    tab.close()

    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_has_the_colours_of_the_page(open_page, theme):
    """A picture follows the theme that the reader chose, on the page's ground, in either system."""
    image = pytest.importorskip("PIL.Image", reason="Pillow comes with matplotlib")
    pictures = []
    for system in ("light", "dark"):
        tab = open_page("tape_or_transform", 1280, system)
        tab.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        tab.wait_for_timeout(200)
        shot = tab.locator("article img").first.screenshot()
        ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        pictures.append(image.open(io.BytesIO(shot)).convert("RGB"))
        corner = pictures[-1].getpixel((12, 12))  # inside of the rounded frame
        assert ground == "rgb({}, {}, {})".format(*corner)
        tab.close()

    assert pictures[0].tobytes() == pictures[1].tobytes()


def test_programs_of_a_lesson_are_stacked_on_a_phone(open_page):
    """At 390 pixels torch's program is above the JAX program, each below its heading."""
    tab = open_page("notebooks/grad_modes", 390)
    programs = tab.locator('.cell_output table[width="100%"]').first
    parts = [
        programs.locator(f"{kind}:nth-child({n})").first for n in (1, 2) for kind in ("th", "td")
    ]
    boxes = [part.bounding_box() for part in parts]
    tab.close()

    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    assert len({box["y"] for box in boxes}) == 4
    assert all(box["x"] + box["width"] <= 390 for box in boxes)


def test_a_long_page_can_be_filtered(open_page):
    """Typing into the filter hides the operators whose names do not contain the word."""
    tab = open_page("operators/activation", 1280)
    tab.locator(".filter input").fill("gelu")
    shown = [s for s in tab.locator("article > section > section").all() if s.is_visible()]
    names = [section.locator("h2").inner_text() for section in shown]
    tab.close()

    assert names and all("gelu" in name for name in names)


def test_the_traps_can_be_filtered(open_page):
    """Typing a word leaves the cards that have it, and hides the symptoms of the others."""
    tab = open_page("traps", 1280)
    tab.locator(".filter input").fill("padding_idx")
    titles = [title.inner_text().rstrip("#") for title in tab.locator("article h2:visible").all()]
    cards = [row.inner_text() for row in tab.locator("article tbody tr:visible").all()]
    tab.close()

    assert titles == ["The outputs agree; the gradients differ", "By subject", "Run a card"]
    assert [card.split()[0] for card in cards] == ["padding_idx"]


def test_every_page_is_reachable():
    """Each page is linked from another page, and none shows Sphinx's internal type names."""
    pages = [path for path in SITE.rglob("*.html") if "_static" not in path.parts]
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    alone = [
        path.name
        for path in pages
        if path.stem not in {*GENERATED, "index"}
        and not any(f"{path.name}" in text for other, text in texts.items() if other != path)
    ]

    assert len(pages) > 40
    assert alone == []
    assert [path.name for path, text in texts.items() if "TypeAliasForwardRef" in text] == []
    assert [path.name for path, text in texts.items() if 'href="file:line"' in text] == []


@pytest.mark.parametrize(
    ("name", "count"), [("worksheet", 8), ("assessment", 12), ("assessment_b", 8)]
)
def test_a_worksheet_is_printed_on_upright_pages(open_page, name, count):
    """A sheet has two pages; there is neither an empty page nor one across."""
    if name not in PAGES:
        pytest.skip("the site has no such page")
    tab = open_page(name, 1200)
    printed = tab.pdf(prefer_css_page_size=True)
    tab.close()
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)", printed)

    assert [(round(float(w)), round(float(h))) for w, h in sizes] == [A4] * count


@pytest.mark.parametrize("name", ["course", "teachers_session_1", "tape_or_transform"])
def test_a_page_is_printed_upright_with_its_title(open_page, name):
    """Pages print upright, except the cheat sheet, with the title that the theme hides."""
    if name not in PAGES:
        pytest.skip("the site has no such page")
    tab = open_page(name, 1200)
    printed = tab.pdf(prefer_css_page_size=True)
    tab.emulate_media(media="print")
    title = tab.eval_on_selector(".bd-article h1", "node => node.offsetParent !== null")
    tab.close()
    sizes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)", printed)

    assert {(round(float(w)), round(float(h))) for w, h in sizes} == {A4} and title


@pytest.mark.parametrize("name", ["worksheet", "assessment", "assessment_b"])
def test_a_printed_worksheet_has_no_navigation(open_page, name):
    """Sidebars, buttons and the note for teachers are hidden on paper."""
    if name not in PAGES:
        pytest.skip("the site has no such page")
    tab = open_page(name, 1200)
    tab.emulate_media(media="print")
    shown = tab.eval_on_selector_all(
        ".screen-only, .bd-sidebar-primary, .bd-header-article, .prev-next-footer, .copybtn",
        "nodes => nodes.filter(node => node.offsetParent !== null).map(node => node.className)",
    )
    tab.close()

    assert shown == []
