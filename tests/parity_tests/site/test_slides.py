"""The slides have the five blocks of the one lesson, each on one screen."""

import html
import re

from parity_tests.site import slides


def test_the_committed_page_is_current():
    """`make pages` writes the slides after docs/one_lesson.md."""
    assert slides.PATH.read_text(encoding="utf-8") == slides.page(), "run: make pages"


def test_the_slides_are_the_blocks_of_the_lesson():
    """Programs, outputs and explanations are those of the page, and nothing is fetched."""
    text = slides.PLAN.read_text(encoding="utf-8").partition(f"## {slides.TITLE}")[2]
    page = slides.page()

    assert [slide.title[:2] for slide in slides.slides()] == ["1.", "2.", "3.", "4.", "5."]
    for tag, language in (("code", "python"), ("samp", "text")):
        blocks = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        shown = re.findall(rf"<pre><{tag}>(.*?)</{tag}></pre>", page, re.DOTALL)
        shown = [re.sub("</?small>", "", text) for text in shown]
        assert list(map(html.unescape, shown)) == blocks
    assert sum(bool(slide.asks) for slide in slides.slides()) == text.count("*Ask: ")
    for slide in slides.slides():
        assert slide.because[0].isupper() and slide.because.endswith(".")
        assert not slide.asks or (slide.asks[0].isupper() and slide.asks.endswith("?"))
    assert re.findall(r"<small>(.*?)\n", page) == ["import jax"], "the imports are small"
    assert not re.search(r"<a |src=|url\(|http", page)


def test_the_arrow_keys_change_the_slide(browser):
    """The right arrow shows the next slide, the left arrow the one before, and none is skipped."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(slides.PATH.as_uri())
    shown = []
    for key in ["ArrowRight"] * 5 + ["ArrowLeft"] * 5:
        tab.keyboard.press(key)
        shown.append(tab.evaluate("Math.round(scrollY / innerHeight) + 1"))
    tab.close()

    assert shown == [2, 3, 4, 5, 5, 4, 3, 2, 1, 1]


def test_a_slide_fits_a_projector_before_and_after_it_is_unfolded(browser):
    """Each slide is as high as the screen, and what it prints is folded at first."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(slides.PATH.as_uri())
    height = "sections => sections.map(section => section.offsetHeight)"
    folded = tab.eval_on_selector_all("section", height)
    seen = tab.locator("samp").first.is_visible()
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    unfolded = tab.eval_on_selector_all("section", height)
    wide = tab.evaluate("document.documentElement.scrollWidth")
    tab.close()

    assert folded == unfolded == [800] * 5 and not seen
    assert wide <= 1280
