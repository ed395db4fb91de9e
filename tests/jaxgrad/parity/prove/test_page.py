"""The page of a proof, in text and in a browser: complete, escaped, offline, light and dark."""

import re
import sys

import pytest

from jaxgrad.parity import Finding, Report, Surface
from jaxgrad.parity.prove.page import headline, render


EVIL = '<script>document.title="owned"</script>'
NAN = float("nan")


def rows(count: int, verdict: str = "pass", **changes):
    made = dict(name="w", verdict=verdict, difference=1e-16, allowed=1e-12, index=[0, 1])
    made |= dict(torch=0.25, jax=0.25) | changes
    return tuple(made | {"name": f"{made['name']}{k}"} for k in range(count))


FIRST = Finding(
    "gradients", EVIL, "net.py:46 (softmax)", "the gradient is off", (2, 0), 7.306502745452065, NAN,
    cause="an extra stop_gradient?",
)  # fmt: skip
FAILED = Report(
    "fail",
    {
        "structure": Surface("structure", "pass", "36 parameters"),
        "forward": Surface("forward", "pass", "1 output", rows(1), control="1e-09 was found"),
        "backward": Surface("backward", "inconclusive", "too noisy"),
        "gradients": Surface(
            "gradients",
            "fail",
            "22 of 36 differ",
            rows(30) + rows(1, "fail", name=EVIL, jax=NAN, difference=float("inf")),
            (FIRST,),
        ),
        "updates": Surface("updates", "not judged", "no optimizer= was given"),
    },
    FIRST,
    name=f"Net | {EVIL}",
    notes=("a note " + EVIL,),
    not_visible=("layers.1.ln1", EVIL),
    seconds={"torch": 0.25, "jax": 1.5},
    versions={"torch": "2.13.0", "jax": EVIL},
)
SURFACES = {name: Surface(name, "pass", "all alike") for name in FAILED.surfaces}
PASSED = Report("pass", SURFACES, name="Block | block", seconds={"torch": 0.1})
ERROR = Report(
    "error",
    {name: Surface(name, "not judged", "") for name in SURFACES},
    text="the first argument is int, not a torch.nn.Module",
    name="int | block",
)


def test_one_offline_file():
    """There is no address, no script and no reference in the page."""
    page = render([FAILED, PASSED, ERROR])

    assert not re.search(r"<script|<link|(src|href)=[\"']?https?:|url\(|@import", page)


def test_markup_stays_text():
    """A name, a note, a version and a cause with <script> in them are escaped."""
    page = render([FAILED])

    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 6, "some part of the report is not on the page"


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([], "Nothing was proved."),
        ([PASSED], "Block | block: the gradients are torch's."),
        ([ERROR], "int | block: nothing was proved."),
        ([FAILED], "the sides part on the gradients surface, at"),
        ([PASSED, PASSED], "All 2 ports have torch's gradients."),
        ([PASSED, FAILED, ERROR], "2 of 3 ports are not proved."),
    ],
)
def test_headline(reports, words):
    """The verdict is one sentence, and what was not proved is not good."""
    assert words in headline(reports)


def test_numbers_are_whole():
    """Both values of the worst element are shown in full, NaN and infinity as words."""
    page = render([FAILED])

    for words in ("7.306502745452065", ">NaN<", ">∞<", "[2, 0]"):
        assert words in page, f"{words} is not on the page"


def test_the_wrong_rows_come_first():
    """Of 31 rows the one that is wrong is the first, and none is lost."""
    page = render([FAILED])
    names = re.findall(r"<td>((?:w|&lt;script).*?)</td>", page)

    assert names[1].startswith("&lt;script"), f"the first row of gradients is {names[1]}"
    assert len(names) == 1 + 31


def test_to_html(tmp_path):
    """`Report.to_html` writes the page."""
    path = tmp_path / "proof.html"
    FAILED.to_html(path)

    assert path.read_text(encoding="utf-8") == render([FAILED])


def test_without_jinja2(monkeypatch):
    """Without jinja2 the error says what to install."""
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(ModuleNotFoundError, match="run: pip install jinja2"):
        render([PASSED])


@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_in_a_browser(browser, tmp_path, scheme):
    """Without JavaScript: five surfaces with sign and word, the card, ink that can be read."""
    path = tmp_path / "proof.html"
    FAILED.to_html(path)
    context = browser.new_context(java_script_enabled=False, color_scheme=scheme)
    tab = context.new_page()
    fetched = []
    tab.on("request", lambda request: fetched.append(request.url))
    tab.goto(path.as_uri())
    surfaces = [" ".join(text.split()) for text in tab.locator(".surfaces li").all_inner_texts()]
    ground, ink = (
        tab.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    levels = [sum(map(int, re.findall(r"\d+", value)[:3])) for value in (ground, ink)]
    card = tab.locator(".card").first.inner_text()
    width = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    context.close()

    assert fetched == [path.as_uri()]
    for text, words in zip(
        surfaces,
        ("structure ✓ pass", "forward ✓ pass", "backward ? inconclusive", "gradients ✗ fail",
         "updates – not judged"),
        strict=True,
    ):  # fmt: skip
        assert text.startswith(words)
    assert EVIL in card
    assert "Likely: an extra stop_gradient?" in card
    assert (levels[0] > levels[1]) == (scheme == "light")
    assert abs(levels[0] - levels[1]) > 400
    assert width <= 0, f"the page is {width} px wider than the window"
