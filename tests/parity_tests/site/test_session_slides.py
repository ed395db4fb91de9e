"""The slides of the sessions have the figures, programs and outputs of the course's pages."""

import contextlib
import html
import io
import re

import jax
import jax.numpy as jnp
import pytest
import torch
from jax import lax

from parity_tests.notebook.sessions import plan
from parity_tests.runner.settings import ROOT
from parity_tests.site import session_slides
from parity_tests.site.session_slides import DENSE, SESSIONS, shortened
from tests._helpers import has_page_release


COURSE = (ROOT / "docs" / "course.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", SESSIONS)
def test_the_committed_slides_are_current(number):
    """`make pages` writes the slides after the page and the notebook that they show."""
    kept = session_slides.path(number).read_text(encoding="utf-8")

    assert kept == session_slides.page(number), "run: make pages"
    assert not re.search(r"<a |src=|url\(|href", kept)


@pytest.mark.parametrize("number", SESSIONS)
def test_the_plan_of_the_session_names_its_slides(number):
    """A row of docs/course.md and the teachers' page of the session link to the file."""
    file = f"_static/session_{number}_slides.html"
    notes = (ROOT / "docs" / f"teachers_session_{number}.md").read_text(encoding="utf-8")

    assert any(file in row.text for row in plan(number))
    assert file in notes and f"`{file.removeprefix('_static/')}`" in COURSE


def test_slides_show_all_figures_and_outputs_of_what_the_class_reads():
    """Sessions 1 and 2 have each figure of the page once, in order, and its programs in order."""
    page = session_slides.PAGE.read_text(encoding="utf-8").partition("\n## What follows\n")[0]
    read = [slide for number in (1, 2) for slide in SESSIONS[number]]
    figures = re.findall(r'src="_static/(\w+)\.svg"', page)
    places = [page.index(session_slides.block(slide.code)[0]) for slide in read if slide.code]

    assert [slide.figure for slide in read if slide.figure] == figures
    assert places == sorted(places) and len(places) == len(set(places))
    _, _, second = page.partition("\n## The VJP: the transpose\n")
    of_first = [slide for slide in SESSIONS[1] if slide.code]
    assert not any(session_slides.block(slide.code)[0] in second for slide in of_first)
    assert all(session_slides.block(s.code)[0] in second for s in SESSIONS[2] if s.code)


@pytest.mark.parametrize("number", SESSIONS)
def test_an_output_has_a_question_and_a_slide_few_words(number):
    """The class predicts before an output is opened; a slide without a program has few words."""
    for slide in SESSIONS[number]:
        shown = bool(slide.code or slide.cell) and slide.prints
        assert not shown or slide.asks.endswith("?"), slide.title
        assert len(slide.words) <= 4 and all(len(words) < 90 for words in slide.words)
        assert not slide.asks or slide.asks.endswith("?")


def test_a_report_on_a_slide_has_lines_of_the_notebook():
    """Only the lines that explain a surface are left out, and the cause is shown."""
    shown = html.unescape(session_slides.page(3))
    for part in ("def port_with_eps", "def port_stopped", "print_report(prove_port(port))"):
        _, report = session_slides.cell(part)
        assert shortened(report) in shown
        assert ("likely cause" in shortened(report)) == report.startswith("FAIL")
        assert set(shortened(report).splitlines()) < set(report.splitlines())
    with pytest.raises(AssertionError, match="is in 0 cells"):
        session_slides.cell("no such line")
    with pytest.raises(AssertionError, match="is in 0 blocks"):
        session_slides.block("no such line")


def test_the_slide_about_a_cause_says_what_the_page_says():
    """The slide has the advice of docs/read_a_report.md on the next proof, and promises no more."""
    words = next(slide.words for slide in SESSIONS[3] if slide.title == "Is the cause right?")
    page = (ROOT / "docs" / "read_a_report.md").read_text(encoding="utf-8")
    section = " ".join(page.partition("## If the cause is wrong")[2].split())

    assert "it was" not in " ".join(words)
    for slide, advice in (
        ("Another first divergence: there may be two mistakes. Go on with the new one.", "If "
         "another first divergence is printed, there may be two mistakes: go on with the new one."),
        ("The same one: undo the change.", "If the same one is printed, undo the change."),
        ("`PASS`: prove with other inputs, as `also=`.", "**Prove with other inputs,** as `also=`"),
    ):  # fmt: skip
        assert slide in words and advice in section


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")
@pytest.mark.parametrize("number", [1, 2])
def test_the_program_of_a_slide_runs_below_what_is_from_earlier_slides(number):
    """A slide defines every name that it uses, except for imports, and prints what is folded."""
    for slide in SESSIONS[number]:
        if slide.code:
            code, wanted = session_slides.block(slide.code)
            names = {"jax": jax, "jnp": jnp, "lax": lax, "torch": torch}
            exec(session_slides.definitions(slide.code), names)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(code, names)
            assert out.getvalue() == wanted or not has_page_release()


def test_a_slide_shows_what_it_reads_from_earlier_slides():
    """The first program of session 2 has the loss of session 1 above it, and no more than that."""
    text = session_slides.definitions("value, pushforward = jax.linearize(loss_of")
    page = html.unescape(session_slides.page(2))

    assert re.findall(r"^(?:def )?(\w+)", text, re.MULTILINE) == ["loss_of", "two"]
    assert f'<small class="before"># from an earlier slide\n{text}\n\n</small>value, ' in page
    assert session_slides.definitions('print("torch.relu       "') == ""


@pytest.mark.parametrize("file", ["session_1", "session_2", "session_3", "one_lesson"])
def test_slides_can_be_read_on_a_phone(browser, file):
    """At 390 pixels no type is small, nothing sticks out, and figures are the narrow ones."""
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto((session_slides.FOLDER / f"{file}_slides.html").as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    size = "nodes => nodes.map(node => parseFloat(getComputedStyle(node).fontSize))"
    sizes = tab.eval_on_selector_all("pre, p, li, small", size)
    letters = tab.eval_on_selector_all(
        "svg",
        """svgs => svgs.filter(svg => svg.checkVisibility()).map(svg =>
             svg.getBoundingClientRect().width / svg.viewBox.baseVal.width
             * parseFloat(getComputedStyle(svg.querySelector("text")).fontSize))""",
    )
    titles = tab.locator("svg:visible title").count()
    wide = tab.evaluate("document.documentElement.scrollWidth")
    tab.close()

    assert min(sizes) >= 12 and wide <= 390
    assert titles == sum(bool(slide.figure) for slide in SESSIONS.get(_number(file), ()))
    assert len(letters) == titles and all(size >= 12 for size in letters)


def _number(file):
    """Return the number of the session of a file of slides; 0 for the one lesson."""
    return int(re.sub(r"\D", "", file) or 0)


@pytest.mark.parametrize("number", SESSIONS)
def test_a_slide_fits_a_projector_before_and_after_it_is_unfolded(browser, number):
    """Each slide is as high as the screen, no wider, and an output is folded at first."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    tab.goto(session_slides.path(number).as_uri())
    height = "sections => sections.map(section => section.offsetHeight)"
    folded = tab.eval_on_selector_all("section", height)
    seen = tab.locator("samp").first.is_visible()
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    unfolded = tab.eval_on_selector_all("section", height)
    wide = tab.evaluate("document.documentElement.scrollWidth")
    sizes = tab.eval_on_selector_all(
        "pre, p, li", "nodes => nodes.map(node => parseFloat(getComputedStyle(node).fontSize))"
    )
    tab.close()

    assert folded == unfolded == [800] * len(SESSIONS[number]) and not seen
    assert wide <= 1280 and min(sizes) >= 16
    assert DENSE > 10
