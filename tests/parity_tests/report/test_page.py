"""Tests of the report page in a real browser: offline use, filter, keyboard, escaped markup."""

import base64
import dataclasses
import gzip
import json
import pathlib
import re
import tempfile
import types
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.compare import ABSENT, Leaf, flatten
from parity_tests.case import load
from parity_tests.pictures.draw_case import PHONE, picture, pictures
from parity_tests.report import drawing, page, rows
from parity_tests.report.leaves import judged, leaf_value, shown_leaves
from parity_tests.report.worked import worked
from parity_tests.runner.engine import run
from parity_tests.runner.settings import ROOT
from parity_tests.runner.torch_side import run_torch, split
from tests._browser import problems


EVIL = '<script>document.title="owned"</script>'
VERSIONS = {
    "torch": "2.13.0", "jax": "0.10.2", "cpu": EVIL, "date": "today", "commit": "abc", "seed": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> pathlib.Path:
    """A page with a few real cells and one made-up failure with markup, NaN and infinity."""
    cases = [case for case in load().values() if case.theme in ("grad_modes", "graph")][:6]
    results = [run(case, "float64", mode) for case in cases for mode in ("eager", "jit")]
    odd = Leaf("x", "fail", "value", EVIL, (0,), float("nan"), float("inf"))
    odd = dataclasses.replace(odd, ulp_at_scale=float("inf"), oracle_ratio=float("nan"))
    wrong = dataclasses.replace(cases[0], theme="planted", source=(EVIL,))
    wrong = dataclasses.replace(wrong, behaviour=EVIL)
    failure = dataclasses.replace(
        results[0], id=wrong.id, theme="planted", verdict="fail", text=EVIL, leaves=(odd,)
    )
    wrong = _with_reference(wrong, cases[0])
    old = {
        "results": [
            {
                "id": results[0].id,
                "dtype": "float64",
                "mode": "eager",
                "device": "cpu",
                "verdict": "fail",
            }
        ]
    }
    path = tmp_path_factory.mktemp("page") / "report.html"
    drawn = {case.id: pictures(case) for case in cases if case.picture}
    page.write(str(path), [*cases, wrong], [*results, failure], VERSIONS, old=old, pictures=drawn)
    return path


def _with_reference(case, other):
    class Planted(type(case)):
        reference = property(lambda self: other.reference)

    fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    return Planted(**fields)


@pytest.fixture
def tab(browser, report):
    """A browser tab with the page; it must log nothing and fetch nothing from the network."""
    tab = browser.new_page()
    heard, fetched = [], []
    tab.on("console", lambda message: heard.append(message.text))
    tab.on("pageerror", lambda error: heard.append(str(error)))
    tab.on("request", lambda request: fetched.append(request.url))
    tab.goto(report.as_uri())
    yield tab
    tab.close()
    assert heard == []
    assert all(url.startswith("file://") for url in fetched)


def test_size_and_no_network(report):
    """The page is a single file under 1 MB that refers to no other address."""
    text = report.read_text()

    assert len(text) < 1_000_000
    assert not re.search(r'(src|href)="?https?:', text)


def test_pictures_are_drawn_and_described(report, tab):
    """The browser unpacks every picture; without JavaScript its description is shown instead."""
    assert "l1 recorded, not reached" in report.read_text()
    places = tab.locator(".picture")
    assert places.count() > 1
    tab.wait_for_function("document.querySelectorAll('.picture > svg').length > 1")
    assert tab.locator(".picture > svg:not(.narrow)").count() == places.count()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("width", "form"), ((390, "narrow"), (1280, "wide")))
def test_a_phone_shows_a_narrow_picture(browser, report, width, form):
    """One of both forms is shown: on a phone the narrow one, which needs no scrolling."""
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(f"{report.as_uri()}#grad_modes-detach")
    tab.wait_for_selector(".case:target .picture > svg:visible")
    box = tab.locator(".case:target .picture")

    (shown,) = box.locator("svg:visible").all()
    assert form in (shown.get_attribute("class") or "").split()
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert not box.locator(".hint").is_visible()
    tab.close()


def test_a_picture_that_stays_wide_scrolls_and_says_so(browser, tmp_path):
    """A picture of many modules keeps its size on a phone, in a box that the keyboard scrolls."""
    case = load()["grad_modes/detach"]
    drawn = pictures(case)[0]
    path = tmp_path / "report.html"
    page.write(
        str(path), [case], [run(case, "float64", "jit")], VERSIONS, pictures={case.id: (drawn,)}
    )
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto(f"{path.as_uri()}#grad_modes-detach")
    tab.wait_for_selector(".case:target .picture > svg")
    box = tab.locator(".case:target .picture")

    assert drawing._width(drawn) > drawing.WIDEST > PHONE
    assert "scroll it sideways" in box.locator(".hint:visible").inner_text()
    assert box.get_attribute("tabindex") == "0"
    assert box.evaluate("box => box.scrollWidth > box.clientWidth")
    tab.set_viewport_size({"width": 1280, "height": 800})
    assert not box.locator(".hint").is_visible()
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    tab.close()


def test_the_pictures_share_one_style_sheet(report):
    """The style sheet of the pictures is stored once; without it a picture has no colour."""
    unpacked = _unpacked(report)

    assert unpacked.count(".jaxgrad-graph text{") == 1
    assert drawing.style_of(["<style>a</style><g/>", "<style>a</style>"]) == "<style>a</style>"
    assert drawing.without_style("<svg><style>a</style>\n<g/></svg>") == "<svg><g/></svg>"


def _unpacked(path: pathlib.Path) -> str:
    packed = re.findall(r'<script id="later"[^>]*>(.*?)</script>', path.read_text(), re.DOTALL)[0]
    return "".join(json.loads(gzip.decompress(base64.b64decode(packed))).values())


def test_the_page_opens_with_one_worked_case(tab, report):
    """Above the grid: both programs, the lines under test, and the gradients without the tool.

    The first case has nothing to take out, so the second one is shown, with a link to all of it.
    """
    opened = tab.locator(".case:visible")
    assert opened.count() == 1 and opened.get_attribute("id") == "grad_modes-detach"
    assert opened.bounding_box()["y"] < tab.locator(".matrix").bounding_box()["y"]
    assert "marked lines are under test" in tab.inner_text(".reading")
    assert opened.locator("mark").all_inner_texts() == [
        "h = net.l1(x).detach()",
        "return stop_gradient(linear(l1, x))",
    ]
    rows = opened.locator("table.leaves:visible tr").all_inner_texts()
    assert rows[0].split("\t")[:4] == [
        "result", "torch", "JAX", "JAX without stop_gradient (≠: changed)"
    ]  # fmt: skip
    assert rows[1].split("\t")[3].startswith("≠ ")  # what changes comes first
    for words in ("ULP", "oracle", "leaf", "cell", "python -m"):
        assert words not in opened.inner_text()
    opened.get_by_role("link", name="The whole case").click()
    assert tab.url.endswith("#grad_modes-detach")
    assert "python -m" in opened.inner_text() and not tab.locator(".matrix").is_visible()
    assert not opened.get_by_text("The whole case").is_visible()


def test_the_worked_case_does_not_need_javascript(browser, report):
    """Without JavaScript the page still opens with the programs and the table of one case."""
    tab = browser.new_context(java_script_enabled=False).new_page()
    tab.goto(report.as_uri())

    assert "≠ " in tab.inner_text(".worked table.leaves")
    tab.close()


def test_the_worked_case_can_be_any_case():
    """It is the shortest of the cases that explain most; a page without results has none."""
    known = load()
    plain, stopped = known["grad_modes/nothing_stopped"], known["grad_modes/detach"]
    by_case = {case.id: [run(case, "float64", "eager")] for case in (plain, stopped)}
    cases = [plain, stopped]

    assert worked(cases, by_case) is stopped
    longer = known["grad_modes/requires_grad"]
    also = by_case | {longer.id: [run(longer, "float64", "eager")]}
    assert worked([longer, plain, stopped], also) is stopped
    assert worked([longer, plain], also) is longer
    assert worked([plain], by_case) is plain
    assert worked(cases, {plain.id: by_case[plain.id]}) is plain
    assert worked(cases, {}) is None and worked([], {}) is None


@pytest.mark.slow
def test_deviations_show_what_torch_did(browser, tmp_path):
    """The table of a deviation lists torch's fresh value or exception beside JAX's, for each leaf.

    The leaves that differ come first.
    """
    cases = [c for c in load().values() if c.deviation and "cpu" in c.devices]
    cells = [run(case, case.dtypes[0], case.modes[-1]) for case in cases]
    path = tmp_path / "report.html"
    page.write(str(path), cases, cells, VERSIONS)
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.wait_for_function("document.querySelectorAll('table.leaves').length > 0")
    for case, cell in zip(cases, cells, strict=True):
        assert cell.verdict == "deviation", cell
        if rows.disagreement(cell) in ("torch raises", "both raise"):
            assert re.search(r"raises|backward\(\)", case.idiom[0]), f"{case.id}: show what raises"
        fresh = flatten(split(run_torch(case, cell.dtype, 0, "cpu").observed)[0])
        tab.goto(f"{path.as_uri()}#{page.anchor(case.id)}")
        head, *lines = tab.locator(f"#{page.anchor(case.id)} table.leaves tr").all_inner_texts()
        columns = head.split("\t")
        leaves = {leaf.path: leaf for leaf in shown_leaves(cell)}
        assert len(lines) == len(leaves) > 0
        signs, before = [], ""
        for line in lines:
            row = dict(zip(columns, line.split("\t"), strict=True))
            name, torch_text, jax_text = row["result"], row["torch"], row["JAX"]
            leaf = leaves[name.partition(" [")[0]]
            parts = leaf.path.split("/")  # torch may raise in place of a whole tree
            above = ["/".join(parts[:n]) for n in range(len(parts), -1, -1)]
            value = next((fresh[path] for path in above if path in fresh), ABSENT)
            if isinstance(value, np.ndarray) and leaf.kind in ("", "value"):
                value = value[leaf.index]
            shown = leaf_value(value).strip()
            repeated = torch_text == "the same exception" and shown == before
            assert repeated or torch_text == shown, (case.id, leaf.path)
            before = shown
            signs.append(leaf.verdict == "fail")
            assert not signs[-1] or torch_text != jax_text, (case.id, leaf.path)
            assert not signs[-1] or row["torch and JAX"] == judged(cell, leaf) == "differs"
        assert signs[0] and signs == sorted(signs, reverse=True), case.id
    tab.close()


def _table(case, result) -> str:
    """Return a page with one run, whose table is not packed."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.html"
        page.write(str(path), [case], [result], VERSIONS)
        return path.read_text()


def test_a_case_has_the_functions_that_its_programs_call(tab, report):
    """Both programs can be run with what is folded in below them; each function is stored once."""
    section = tab.locator("#grad_modes-detach")
    tab.goto(f"{report.as_uri()}#grad_modes-detach")
    folded = section.locator("details.helpers")
    folded.locator("summary").click()
    left, right = folded.locator(".two > div").all_inner_texts()

    assert all(f"{name}(" in left for name in ("class Net", "def mse", "def grads"))
    assert all(f"def {name}(" in right for name in ("linear", "mse"))
    packed = page.Later()
    assert [packed("<pre>a</pre>"), packed("b"), packed("<pre>a</pre>")] == [0, 1, 0]


def test_a_table_has_no_empty_column_and_explains_its_headings():
    """A float64 cell has no oracle ratio; the other columns say on hover what they are."""
    case = load()["grad_modes/detach"]
    tables = {dtype: _table(case, run(case, dtype, "eager")) for dtype in ("float64", "float32")}

    assert "oracle ratio" not in tables["float64"]
    assert "oracle ratio" in tables["float32"]
    for heading, dtype in (("ULP", "float64"), ("oracle ratio", "float32")):
        assert re.search(f'<th scope="col" title="[^"]+">{heading}', tables[dtype])


def test_opens(tab):
    """The summary counts behaviours, the line above the grid counts runs.

    A behaviour that did not run in a dtype or mode is not shown as passed.
    """
    summary = tab.inner_text(".verdict")
    counts = re.match(r"(\d+) behaviours: 1 failed, (\d+) agree with torch, (\d+) differ", summary)
    assert counts is not None
    ran, *others = map(int, counts.groups())
    assert ran == 1 + sum(others) == tab.locator("tr.row").count()
    assert "13 runs (a behaviour in one dtype, eager or under jit)" in tab.inner_text("body")
    assert tab.locator("td.notrun").count() > 0
    assert tab.locator("td.notrun.v-close, td.notrun.v-bitwise").count() == 0


def test_filter_and_address(tab, report):
    """The filter hides rows that do not match, and its text is kept in the URL."""
    everything = tab.locator("tr.row:visible").count()
    tab.fill("#filter", "detach dtype:float64 mode:jit status:close")

    assert 0 < tab.locator("tr.row:visible").count() < everything
    address = tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert tab.input_value("#filter") == "detach dtype:float64 mode:jit status:close"
    tab.fill("#filter", "-detach")
    assert "detach" not in tab.inner_text(".matrix").split()
    tab.fill("#filter", "nothing-of-the-kind")
    assert tab.inner_text("#count").startswith("0 of ")


def test_words_and_chips_find_deviations(tab):
    """The word `deviation` and the chip "deviations" both leave the rows that have a deviation."""
    tab.fill("#filter", "deviation")
    typed = tab.locator("tr.row:visible").count()
    tab.fill("#filter", "")
    everything = tab.locator("tr.row:visible").count()
    tab.get_by_role("button", name="deviations").click()

    assert tab.input_value("#filter") == "status:deviation"
    assert 0 < tab.locator("tr.row:visible").count() == typed < everything
    assert tab.get_by_role("button", name="deviations").get_attribute("aria-pressed") == "true"
    tab.get_by_role("button", name="deviations").click()
    assert tab.locator("tr.row:visible").count() == everything


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", (390, 1280, 1600))
def test_nothing_is_wider_than_the_screen(browser, report, width):
    """The page and each opened case fit the width of a phone, a laptop and a large screen.

    An opened case takes the place of the filter bar and the table.
    """
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(report.as_uri())
    cases = tab.locator(".case").evaluate_all("cases => cases.map(x => x.id)")
    for place in ("", *(f"#{case}" for case in cases[:3])):
        tab.goto("about:blank")
        tab.goto(report.as_uri() + place)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if place:
            assert not tab.locator(".bar").is_visible() and not tab.locator(".matrix").is_visible()
            assert 0 <= tab.locator(".case:visible h3").bounding_box()["y"] < 800
    tab.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("opened", (False, True))
def test_the_page_can_be_read(browser, report, opened):
    """The page and an opened case have contrast, log nothing, and are reached by keyboard."""
    place = f"#{page.anchor('grad_modes/detach')}" if opened else ""

    assert problems(browser, report, place) == []


def test_a_click_opens_the_programs(tab):
    """Clicking a cell opens both sources, the leaf table and the command."""
    tab.locator("td.v-close a").first.click()
    section = tab.locator(".case:visible")

    assert section.count() == 1
    text = section.inner_text()
    for words in (
        "torch_ref/",
        "parity_tests/cases/",
        "python -m parity_tests",
        "equal up to rounding",
        "how large the differences are",
    ):
        assert words in text
    section.locator("a.close").click()
    assert tab.locator(".case:target").count() == 0
    assert tab.locator(".matrix").is_visible()
    assert tab.evaluate("document.activeElement.closest('tr.row').id") == tab.url.partition("#")[2]


def test_an_opened_case_shows_its_negative_control(tab, report):
    """The table has JAX's values without the tool, and one of them differs from JAX's."""
    tab.goto(f"{report.as_uri()}#{page.anchor('grad_modes/detach')}")
    tab.wait_for_function("document.querySelectorAll('.case:target table.leaves').length > 0")
    head, *lines = tab.locator(".case:visible table.leaves").first.locator("tr").all_inner_texts()
    cells = [line.split("\t") for line in lines]
    marked = {cell[0] for cell in cells if cell[3].startswith("≠ ")}

    assert head.split("\t")[2:4] == ["JAX", "JAX without stop_gradient (≠: changed)"]
    assert marked and marked < {cell[0] for cell in cells}
    assert all(cell[3].removeprefix("≠ ") != cell[2] for cell in cells if cell[0] in marked)


def test_one_word_for_a_verdict(tab, report):
    """A passed case says "equal up to rounding", as the legend does; what was allowed is folded."""
    tab.locator("td.v-close a").first.click()
    section = tab.locator(".case:visible")
    text = section.inner_text()

    assert "equal up to rounding" in text and "ULP" not in text
    section.locator("details.numbers summary").first.click()
    assert re.search(r"At most [\d.]+ ULP; allowed: 4504 ULP", section.inner_text())
    assert "close" not in text.replace("closer", "")


def test_the_example_of_the_filter_finds_rows(tab):
    """The placeholder of the filter is a query with results."""
    tab.fill("#filter", tab.get_attribute("#filter", "placeholder") or "")

    assert tab.locator("tr.row:visible").count() > 0


def test_a_page_names_one_commit():
    """The commit in a local version is removed, since the page names the commit of the run."""
    assert page._public("0.1.dev913+gf5d9c2816.d20261125") == "0.1.dev913"
    assert page._public("2.13.0+cpu") == "2.13.0+cpu" and page._public(0) == 0


def test_keyboard(tab):
    """`/` focuses the filter, Tab reaches chips and cells, Enter opens one and Escape closes it."""
    tab.keyboard.press("/")
    tab.keyboard.type("detach")
    assert tab.input_value("#filter") == "detach"
    for _ in range(tab.locator(".chips button").count() + 1):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.locator(".case:target").count() == tab.locator(".case:visible").count() == 1
    tab.keyboard.press("Escape")
    assert tab.locator(".case:target").count() == 0


def test_an_opened_case_leads_to_the_next_one(tab, report):
    """Links and arrow keys go through the rows that the filter leaves; the lists are hidden."""
    tab.fill("#filter", "grad_modes")
    ids = tab.locator("tr.row:visible").evaluate_all("rows => rows.map(x => x.id.slice(4))")
    tab.locator("td.v-close a").first.click()
    assert tab.url.endswith(f"#{ids[0]}") and f"1 of {len(ids)}" in tab.inner_text(".case:target")
    assert tab.locator(".case:target [rel=prev]").count() == 0
    tab.locator(".case:target [rel=next]").click()
    assert tab.url.endswith(f"#{ids[1]}") and tab.locator(".case:visible").count() == 1
    tab.keyboard.press("ArrowRight")
    assert tab.url.endswith(f"#{ids[2]}")
    tab.keyboard.press("ArrowLeft")
    assert tab.url.endswith(f"#{ids[1]}")
    assert not tab.locator(".after").is_visible()


def test_a_phone_shows_a_leaf_as_labelled_lines(browser, report):
    """No table is wider than a phone, and each value has the heading of its column."""
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto(f"{report.as_uri()}#grad_modes-detach")
    tab.wait_for_selector(".case:target table.labelled")
    table = tab.locator(".case:target table.labelled").first
    cells = table.locator("tr").nth(1).locator("td")

    assert table.evaluate("t => t.parentElement.scrollWidth <= t.parentElement.clientWidth")
    headings = [cells.nth(i).get_attribute("data-of") for i in range(cells.count())]
    assert headings[:3] == ["result", "torch", "JAX"]
    assert not table.locator("tr").first.is_visible()
    tab.close()


def test_a_picture_does_not_repeat_the_claim_above_it(report):
    """The claim of a case is shown once, so that the title of its picture is short."""
    case = load()["grad_modes/detach"]
    titles = [
        re.findall("<title[^>]*>(.*?)</title>", picture(case, claim=claim))[0]
        for claim in (True, False)
    ]

    assert titles[0].startswith("grad_modes/detach: detach after L1")
    assert titles[1] == "grad_modes/detach: the backward graphs"
    unpacked = _unpacked(ROOT / "docs" / "_static" / "report.html")
    assert "grad_modes/detach: the backward graphs" in unpacked and titles[0] not in unpacked


def test_markup_stays_text(tab):
    """Markup in a case id, a message or a version is escaped."""
    assert tab.title().startswith("jaxgrad parity")
    assert EVIL in tab.inner_text(".matrix")
    tab.locator("td.v-fail a").first.click()
    assert EVIL in tab.locator(".case:visible").inner_text()


def test_nan_and_infinity(tab):
    """NaN and infinity are displayed in cells and tables."""
    assert "∞ ULP" in (tab.locator("td.v-fail a").first.get_attribute("title") or "")
    tab.locator("td.v-fail a").first.click()
    values, numbers = tab.locator(".case:visible .leaves").all_inner_texts()
    assert "nan" in values.lower()
    assert "∞" in numbers  # how large the difference is, is not folded if a run fails


def test_changes_are_marked(tab):
    """A cell that changed since the older run is framed, and its title gives the old verdict."""
    framed = tab.locator("td.changed")

    assert framed.count() > 0
    assert "(was fail)" in (framed.first.locator("a").get_attribute("title") or "")


def test_readable_without_javascript(browser, report):
    """Without JavaScript the matrix is visible and a click still opens a case."""
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(report.as_uri())
    tab.locator("td.v-close a").first.click()

    assert tab.locator(".case:visible").count() == 1
    tab.locator(".case:visible a.close").click()
    assert tab.locator("tr.row:visible").count() == 7
    context.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_light_and_dark(browser, report, scheme):
    """Text and background have enough contrast in the light and the dark scheme."""
    tab = browser.new_page(color_scheme=scheme)
    tab.goto(report.as_uri())
    style = "getComputedStyle(document.body)"
    ground, text = (tab.evaluate(f"{style}.{name}") for name in ("backgroundColor", "color"))
    levels = [sum(map(int, re.findall(r"\d+", value)[:3])) for value in (ground, text)]

    assert (levels[0] > levels[1]) == (scheme == "light")
    assert abs(levels[0] - levels[1]) > 400
    tab.close()


@pytest.mark.parametrize(
    ("torch", "jax", "word"),
    [
        (1.0, 2.0, "differs"),
        (None, 0.0, "differs"),
        (RuntimeError("freed"), 2.0, "torch raises"),
        (1.0, ValueError("leaked"), "JAX raises"),
        (RuntimeError("refused"), TypeError("int32"), "both raise"),
    ],
)
def test_a_deviation_says_which_framework_raises(torch, jax, word):
    """The word of a cell distinguishes another exception from another value."""
    differing = Leaf("grad", "fail", "structure", torch=torch, jax=jax)
    same = Leaf("loss", "bitwise", torch=RuntimeError("equal"), jax=RuntimeError("equal"))
    result: Any = types.SimpleNamespace(leaves=(same, differing))

    assert rows.disagreement(result) == word
