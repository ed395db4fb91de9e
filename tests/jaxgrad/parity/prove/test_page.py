"""The HTML page of reports: complete, escaped, offline, in light and dark."""

import dataclasses
import json
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from torch import nn

from jaxgrad.parity import Finding, Report, Surface, prove
from jaxgrad.parity.prove import page
from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.listings import Listing
from jaxgrad.parity.prove.report import headline, render
from tests._browser import problems


EVIL = '<script>document.title="owned"</script>'
NAN = float("nan")


def rows(count: int, verdict: str = "pass", **changes):
    row = dict(name="w", verdict=verdict, difference=1e-16, allowed=1e-12, index=[0, 1])
    row |= dict(torch=0.25, jax=0.25) | changes
    return tuple(row | {"name": f"{row['name']}{k}"} for k in range(count))


FIRST = Finding(
    "gradients", EVIL, "net.py:46 (softmax)", "the gradient is off", (2, 0), 7.306502745452065, NAN,
    cause="an extra stop_gradient?", tested=True,
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
PASSES = (
    "PASS: your port has torch's outputs, gradients and updates, with your weights and inputs and "
    "with redrawn ones."
)
PASSED = Report("pass", SURFACES, name="Block | block", seconds={"torch": 0.1})
ERROR = Report(
    "error",
    {name: Surface(name, "not judged", "") for name in SURFACES},
    text="the first argument is int, not a torch.nn.Module",
    name="int | block",
)


def test_rows_that_differ_by_rounding_keep_their_order():
    """Processors round differently, and a page must not depend on it."""
    small = rows(2, difference=1e-16) + rows(1, name="v", difference=9e-15)
    large = rows(1, name="large", difference=5e-13)
    unjudged = rows(1, name="unjudged", difference=None, allowed=None)

    names = [row["name"] for row in page.ordered(small + large + unjudged)]
    assert names == ["unjudged0", "large0", "w0", "w1", "v0"]


def test_one_offline_file():
    """The page contains no address, no script and no reference."""
    html = render([FAILED, PASSED, ERROR])

    assert not re.search(r"<script|<link|(src|href)=[\"']?https?:|url\(|@import", html)


def test_markup_stays_text():
    """Names, notes, versions and causes that contain <script> are escaped."""
    html = render([FAILED])

    assert EVIL not in html
    assert html.count("&lt;script&gt;") >= 6, "some part of the report is not on the page"


def test_values_are_shown_in_full():
    """Both values of the worst element have all digits; NaN and infinity are written as words."""
    html = render([FAILED])

    for words in ("7.306502745452065", ">NaN<", ">∞<", "[2, 0]"):
        assert words in html, f"{words} is not on the page"


def test_the_wrong_rows_come_first():
    """The failing row of 31 comes first, and no row is lost."""
    html = render([FAILED])
    names = re.findall(r"<td>((?:w|&lt;script).*?)</td>", html)

    assert names[0].startswith("&lt;script"), f"the first row of gradients is {names[0]}"
    assert len(names) == 1 + 31


def test_the_failure_comes_before_what_passed():
    """The first divergence precedes the surfaces, and the failing surface those that passed."""
    html = render([FAILED])
    parts = ("First divergence", 'class="surfaces"', "gradients: 31 values", "forward: 1 value")

    assert [html.index(p) for p in parts] == sorted(html.index(p) for p in parts)
    assert "How to read the numbers" in html and "How to read" not in render([ERROR])


def test_both_programs_are_shown_with_the_named_lines_marked():
    """The marked line of each listing has its number; markup in the source stays text."""
    listings = {
        "torch": Listing("model.py", 10, ("def forward(self):", EVIL), (11,)),
        "jax": Listing("", 1, ("Sequential(", "  (0): ReLU()"), (2,)),
    }
    html = render([dataclasses.replace(FAILED, listings=listings)])

    marked = re.findall(r'<mark class="row">.*?</span> (.*?)</mark>', html)
    assert [re.sub(r"</?i( class=\"[\w-]+\")?>", "", line) for line in marked] == [
        EVIL.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&#34;"), "  (0): ReLU()"
    ]  # fmt: skip
    assert '<span class="at">  11</span>' in html and '<i class="t-keyword">def</i>' in html


def test_the_lines_far_from_a_marked_one_are_folded():
    """The lines of the function around the place are shown, the others are in a folded element."""
    body = ["    x += 1"] * 9
    lines = ("def other():", "    pass", "", "", "def port(x):", *body, "    return x")
    html = render([dataclasses.replace(FAILED, listings={"jax": Listing("a.py", 1, lines, (14,))})])

    gap = re.compile(r"<details><summary>⋯ (\d lines?)</summary>.*?</details>", re.DOTALL)
    assert gap.findall(html) == ["4 lines", "4 lines"]
    shown = gap.sub("", html)
    assert re.findall(r'class="at"> *(\d+)<', shown) == ["5", "10", "11", "12", "13", "14", "15"]


def test_each_sentence_of_a_surface_is_an_item():
    """A long text is a list, as in the text report; semicolons in parentheses do not split it."""
    text = "2 buffer updates agree; 3 steps, weights agree (relative; at most 1e-12); <b>"
    surfaces = {
        "updates": Surface("updates", "pass", text),
        "forward": Surface("forward", "pass", ""),
    }
    html = render([Report("pass", surfaces)])

    items = re.findall(r"<ul class=\"dim\">(.*?)</ul>", html)
    assert items == [
        "<li>2 buffer updates agree</li><li>3 steps, weights agree (relative; at most 1e-12)</li>"
        "<li>&lt;b&gt;</li>",
        "",
    ]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_of_a_surface_has_room(browser, tmp_path, width):
    """A sentence of ordinary length needs at most three lines, at each width of the window."""
    text = "; ".join(f"given gradients below and above clip={k}, 8 steps agree" for k in range(12))
    path = tmp_path / "proof.html"
    names = ("structure", "forward", "backward", "gradients", "updates", "precision")
    surfaces = {name: Surface(name, "pass", "agree") for name in names}
    Report("pass", {**surfaces, "updates": Surface("updates", "pass", text)}).to_html(path)
    tab = browser.new_page(viewport={"width": width, "height": 800})
    tab.goto(path.as_uri())
    heights = tab.evaluate(
        "[...document.querySelectorAll('.surfaces li li')].map(x => x.offsetHeight)"
    )
    wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
    tab.close()

    assert len(heights) == 17 and max(heights) <= 45 and wide <= 0


def test_a_pass_shows_the_surfaces_before_the_folded_programs():
    """A reader of a pass asks what was compared; a reader of a failure needs the named lines."""
    programs = {"jax": Listing("port.py", 1, ("def port(p, x):", "    return layer(p, x)"))}
    called = {"jax": (Listing("layers.py", 5, ("def layer(p, x):", "    return x @ p['w']")),)}
    passed = dataclasses.replace(PASSED, listings=programs, functions=called)
    failed = dataclasses.replace(FAILED, listings=programs, functions=called)
    summary = "<summary>both programs</summary>"

    html = render([passed])
    assert html.index('class="surfaces"') < html.index(f"<details>{summary}")
    assert "<details open><summary>1 further function of this program</summary>" in html
    text = re.sub(r"<[^>]+>", "", html)
    assert "layers.py" in text and "return x @ p[&#39;w&#39;]" in text
    html = render([failed])
    assert html.index(f"<details open>{summary}") < html.index('class="surfaces"')
    assert "<details><summary>1 further function of this program</summary>" in html


def test_rows_that_pass_are_folded_beside_failing_ones():
    """The first passing rows of the backward pass are folded, whose order stays."""
    passing, failing = rows(2), rows(1, "fail", name="x")
    split = [passing, failing, passing]
    mixed = [row for part in split for row in part]

    assert page.groups(mixed, True) == [
        ("2 nearest to the loss: pass", mixed[:2]), ("", mixed[2:])
    ]  # fmt: skip
    assert page.groups(mixed, False) == [("", [*failing]), ("4 more: pass", [*passing, *passing])]
    assert page.groups(rows(13), False) == [("", rows(13)[:12]), ("1 more", rows(13)[12:])]


@pytest.mark.parametrize(
    ("torch", "name", "words"),
    [
        (None, "mul, net.py:46 (softmax)", "gradient in JAX only (start of the wrong path)"),
        (None, "mul, net.py:47 (mul)", "no gradient in torch"),
        (0.5, "mul, net.py:46 (softmax)", "harmless"),
    ],
)
def test_a_harmless_row_says_why(torch, name, words):
    """Where the first divergence is, a row without a gradient in torch begins the path."""
    cause = dataclasses.replace(FIRST, jax="fc.bias", cause=f"add it at {FIRST.jax}")
    (row,) = rows(1, "harmless", torch=torch)

    for first in (FIRST, cause):
        assert page.verdict_of({**row, "name": name}, first) == words
        assert page.verdict_of({**row, "verdict": "fail"}, first) == "fail"


VERDICTS = ("pass", "fail", "inconclusive", "error", "not judged")
LEAF_VERDICTS = ("pass", "fail", "inconclusive", "zero", "accepted", "mask", "harmless")


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("first", (None, FIRST))
def test_a_page_needs_no_more_than_the_schema_requires(verdict, first):
    """Every verdict of a surface and of its rows has a page, with findings whose rows all pass.

    A row need not state its index and both values.
    """
    finding = dataclasses.replace(FIRST, text="", index=(), torch_value=None, jax_value=None)
    for number in range(len(LEAF_VERDICTS) + 1):
        leaves = [
            dict(name=f"leaf of {x}", verdict=x, difference=None, allowed=None)
            for x in LEAF_VERDICTS[:number]
        ]
        surfaces = {
            name: Surface(name, verdict, "", tuple(leaves), (finding,)) for name in FAILED.surfaces
        }
        proof = Report("fail", surfaces, first, matched=("fc",))
        page_text = render([Report.from_dict(json.loads(proof.to_json()))])

        assert all(f"<td>{leaf['name']}</td>" in page_text for leaf in leaves)
        assert "1 further difference" in page_text or number > 1


def test_a_port_that_ignores_a_norm_that_is_the_identity_has_a_page():
    """The given weights agree and the redrawn ones do not, so no row of a failing surface fails."""
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2))
    params = {name: p.detach().numpy() for name, p in model.state_dict().items()}

    def port(p, x):
        h = x @ p["0.weight"].T + p["0.bias"]
        h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
        return h @ p["2.weight"].T + p["2.bias"]

    report = prove(model, port, params, (np.random.default_rng(0).normal(size=(5, 3)),))
    assert "structure: 1 further difference" in render([report])


def test_the_first_divergence_is_shown_once():
    """A report that was read from JSON has a page with as many cards as the report itself."""
    read = Report.from_dict(json.loads(FAILED.to_json()))
    assert render([read]).count('class="card"') == render([FAILED]).count('class="card"') == 1


def test_a_second_mistake_with_a_confirmed_cause_is_open():
    """The page shows each divergence that the text names, and folds the others."""
    second = dataclasses.replace(
        FIRST, surface="updates", torch="b", cause="nesterov is False, torch uses True", tested=True
    )
    folded = dataclasses.replace(second, torch="c", cause="")
    surfaces = {**FAILED.surfaces, "updates": Surface("updates", "fail", "", (), (second, folded))}
    report = dataclasses.replace(FAILED, surfaces=surfaces)
    html = render([report])
    before = html[: html.index('<ol class="surfaces">')]

    assert "next divergence: updates" in str(report)
    assert before.count("Next divergence") == len(report.further) > 0
    assert before.count("nesterov is False") == 1
    assert html.count("nesterov is False") == 1


def test_short_times_are_left_out():
    """A step that took less than a twentieth of a second is not listed, and no time is zero."""
    html = render([dataclasses.replace(PASSED, seconds={"torch": 0.01, "trace": 0.1})])
    assert "0.1 s: trace 0.1" in html and "0.0" not in html.partition("<main>")[2]


def test_what_matched_before_the_fault_is_a_chain():
    """The last modules that matched lead to the one that differs; the others are counted."""
    names = tuple(f"layer{i}" for i in range(9))
    first = dataclasses.replace(FIRST, torch="norm", op="layer_norm")
    html = render([dataclasses.replace(FAILED, matched=names, first=first)])
    (chain,) = re.findall(r'<ol class="chain".*?</ol>', html, re.DOTALL)
    items = re.findall(r"<li[^>]*>(?:<b>)?(.+?)(?:</b>)?(?: <|</)", chain)

    assert items == ["3 more", *names[3:], "norm (layer_norm)"]
    assert 'class="chain"' not in render([FAILED, PASSED])


def test_a_proof_names_the_modules_that_matched_before_the_fault():
    """A forward divergence lists the modules before it in the order of their calls."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.GELU(), nn.Linear(4, 1))
    params = {name: p.numpy() for name, p in model.state_dict().items()}
    inputs = (np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32),)

    def port(p, x):
        h = jax.nn.gelu(jnp.tanh(x @ p["0.weight"].T + p["0.bias"]))
        return h @ p["3.weight"].T + p["3.bias"]

    assert prove(model, port, params, inputs).matched == ("0", "1")


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


def test_counts_and_places_read_as_words():
    """One value is not "1 values", a change is in a file without its folders, and a name is whole.

    Under the heading of a proof its verdict is stated without repeating the name.
    """
    edit = Edit("/home/someone/net.py", 46, "lax.stop_gradient(h)", "h")
    first = dataclasses.replace(FIRST, edit=edit, ruled_out=("another axis",))
    surfaces = {**FAILED.surfaces, "forward": Surface("forward", "pass", "", rows(2))}
    wrong = dataclasses.replace(FAILED, first=first, surfaces=surfaces)
    html = render([wrong, dataclasses.replace(PASSED, surfaces=FAILED.surfaces)])

    assert "forward: 2 values compared" in html and "forward: 1 value compared" in html
    assert "gradients: details of the value that differs" in html and "1 cause ruled out" in html
    assert "Suggested change in net.py:46" in html and "/home" not in html
    assert "<p>Your port has torch&#39;s outputs, with your weights and inputs" in html
    assert html.count("Block | block") == 2  # in the overview and above its proof


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_in_a_browser(browser, tmp_path, scheme):
    """Without JavaScript, five surfaces and a card are shown with sufficient contrast."""
    path = tmp_path / "proof.html"
    FAILED.to_html(path)
    context = browser.new_context(java_script_enabled=False, color_scheme=scheme)
    tab = context.new_page()
    fetched = []
    tab.on("request", lambda request: fetched.append(request.url))
    tab.goto(path.as_uri())
    surfaces = [" ".join(text.split()) for text in tab.locator(".surfaces > li").all_inner_texts()]
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
    assert "Likely cause: an extra stop_gradient?" in card
    assert (levels[0] > levels[1]) == (scheme == "light")
    assert abs(levels[0] - levels[1]) > 400
    assert width <= 0, f"the page is {width} px wider than the window"


def test_the_page_can_be_read(browser, tmp_path):
    """A page of several proofs fits each width, has contrast, and is reached by keyboard."""
    path = tmp_path / "proofs.html"
    path.write_text(render([FAILED, PASSED, ERROR]), encoding="utf-8")

    assert problems(browser, path) == []


@pytest.mark.parametrize(
    ("reports", "words"),
    [
        ([], "There are no proofs."),
        ([PASSED], PASSES),
        ([ERROR], "ERROR: the comparison could not be run."),
        ([FAILED], "FAIL: your port differs from torch, first on the gradients surface: in"),
        ([PASSED, PASSED], "All 2 ports have torch's outputs, gradients and updates at the inputs"),
        ([PASSED, FAILED, FAILED], "2 of 3 ports differ from torch."),
        ([FAILED, ERROR], "1 of 2 ports differs from torch; 1 could not be compared."),
    ],
)
def test_headline(reports, words):
    """The headline states the verdicts in one sentence, and errors do not count as passes."""
    assert words in headline(reports)
