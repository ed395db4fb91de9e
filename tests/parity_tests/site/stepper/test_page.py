"""The stepper in a real browser: every scenario and step, keyboard, links, widths, contrast."""

import json
import re

import pytest

from parity_tests.runner.settings import ROOT
from parity_tests.site.stepper.page import PAGE, recorded
from parity_tests.site.stepper.record import ORDER
from tests._browser import low_contrast


DATA = recorded()
# Steps through a scenario; what each pane shows is read from the elements of the page.
SHOWN = """(names) => JSON.stringify(names.map((other) => {
  const number = (text) => ({true: true, false: false})[text] ?? Number(text.replace("−", "-"));
  const numbers = (row) => row.split(", ").map(number);
  const matrix = (m) => m.ariaLabel?.split("; ").map(numbers) ?? number(m.textContent);
  const first = (cell, query) => cell?.querySelector(query);
  name = other;
  return data.scenarios[name].steps.map((_, i) => {
    step = i;
    draw();
    return panes.map((pane) => {
      const seen = {say: pane.querySelector(".say").textContent};
      seen.now = pane.querySelector(".now")?.dataset.row ?? "";
      seen.error = pane.querySelector(".error .message")?.textContent ?? "";
      for (const row of pane.querySelectorAll("[data-row]")) {
        const key = row.dataset.row;
        const put = (what, m) => m && (seen[`${key}.${what}`] = matrix(m));
        put("value", first(row, ".value > .m"));
        put("arrived", first(row, ".arrived > .m"));
        put("gradient", first(row, ".gradient > .m"));
        put("grad", first(row, ".grad > .m"));
        if (/None( so far)?$/.test(first(row, ".grad")?.textContent)) seen[`${key}.grad`] = null;
        const version = first(row, ".version")?.textContent;
        if (version) seen[`${key}.version`] = Number(version.split(" ")[1]);
        const nodes = [...row.querySelectorAll(".node")].map((node) => node.textContent);
        if (nodes.length) seen[`${key}.node`] = nodes.join();
        const chips = [...row.querySelectorAll(".chip")].map((chip) => {
          const m = first(chip, ".m");
          return [chip.querySelector("b").textContent, chip.classList[1], m ? matrix(m) : null];
        });
        if (chips.length) seen[`${key}.kept`] = chips;
      }
      return seen;
    });
  });
}))"""

# Whether these switches are on, and no others.
SWITCHED = """(names) =>
  [...document.querySelectorAll("#switches :checked")].map((x) => x.name).join() === names.join()"""


def _expected(name):
    """Return what each pane must show after each step, from the data alone."""
    scenario = DATA["scenarios"][name]
    lines = [[DATA["lines"][i] for i in places] for places in scenario["programs"]]
    trained = [
        {key for key, text, *_ in lines[0] if "requires_grad=True" in text},
        set(re.findall(r"W\d", next(text for key, text, *_ in lines[1] if key == "start"))),
    ]
    state, error = ({}, {}), ""
    for step in scenario["steps"]:
        shown = []
        for side in (0, 1):
            part = DATA["sides"][step[1 + side]]
            state[side].update(part.get("set", {}))
            for cell in part.get("gone", ()):
                del state[side][cell]
            error = part.get("error", {}).get("message", "") or error
            row = part.get("row", "")
            rows = {key for key, *_ in lines[side]}
            seen = {
                "say": part["say"].replace("`", ""),
                "now": row if row in rows else "",
                "error": error if side == 0 else "",
            }
            for cell, value in state[side].items():
                key, what = cell.split(".")
                if what in {"requires", "dead"} or (what == "grad" and key not in trained[side]):
                    continue
                if what == "kept":
                    chips = [[k["name"], k["state"], k.get("value")] for k in value]
                    seen |= {cell: chips} if chips else {}
                elif what == "ran":
                    seen |= {f"{key}.node": ", ".join(value)} if side else {}
                else:
                    seen[cell] = value
            shown.append(seen)
        yield shown


@pytest.fixture(scope="module")
def open_page(browser):
    """Return a function that opens the page; nothing may be logged or fetched."""
    heard, fetched = [], []

    def open_page(place="", width=1280, **options):
        tab = browser.new_page(viewport={"width": width, "height": 844}, **options)
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("request", lambda request: fetched.append(request.url))
        tab.goto(f"{PAGE.as_uri()}#{place}")
        return tab

    yield open_page
    assert heard == []
    assert all(url.startswith(("file:", "data:")) for url in fetched)


@pytest.mark.slow
def test_every_step_of_every_scenario_shows_the_recorded_numbers(open_page):
    """Numbers, versions, saved tensors, nodes, sentences and exceptions are those of the data."""
    tab = open_page()
    scenarios = json.loads(tab.evaluate(SHOWN, [*DATA["scenarios"]]))
    tab.close()
    for name, shown in zip(DATA["scenarios"], scenarios, strict=True):
        assert shown == list(_expected(name)), name

    assert sum(map(len, scenarios)) > 3000


def test_the_file_is_small_and_needs_nothing_else():
    """The page is one file under 300 KB that refers to no other address."""
    text = PAGE.read_text()

    assert len(text.encode()) < 300_000
    assert not re.search(r"(src|href)=.?(https?:|//)", text)


@pytest.mark.slow
def test_keys_step_through_the_page(open_page):
    """Arrow keys, Home and End move; Space plays and pauses; the address keeps the step."""
    tab = open_page("detach&hook")

    def pressed(*keys):
        for key in keys:
            tab.keyboard.press(key)
        return tab.inner_text("#count")

    size = len(DATA["scenarios"]["detach&hook"]["steps"]) - 1
    assert pressed() == f"step 0 of {size}"
    assert pressed("ArrowRight", "ArrowRight", "ArrowLeft") == f"step 1 of {size}"
    assert tab.url.endswith("#detach&hook&step=1")
    assert pressed("End", "ArrowRight") == f"step {size} of {size}"
    assert pressed("Home", "ArrowLeft") == f"step 0 of {size}"
    assert tab.is_disabled("#back") and tab.is_enabled("#next")
    pressed(" ")
    assert tab.get_attribute("#play", "aria-pressed") == "true"
    assert pressed(" ") == f"step 0 of {size}"
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    tab.close()


def test_the_keyboard_reaches_every_control(open_page):
    """Tab reaches each switch, button and link and the slider; Space turns a switch on."""
    tab = open_page("step=3")
    reached = []
    while "slider" not in reached and len(reached) < 40:
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.name || document.activeElement.id"))
        if reached[-1] == "freeze_W2":
            tab.keyboard.press(" ")

    assert {*DATA["switches"], "first", "back", "play", "next", "last", "slider"} <= {*reached}
    assert "freeze_W2&step=3" in tab.url
    tab.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_tab_goes_on_from_the_button_that_was_pressed(open_page, width):
    """A step scrolls its row into sight, and the Tab key still goes on from the button."""
    tab = open_page("detach&step=3", width)
    tab.locator("#next").focus()
    for _ in range(9):
        tab.keyboard.press("Enter")
        rows = [row.bounding_box() for row in tab.locator(".now").all()]
        end = tab.locator(".bar").bounding_box()["y"]
        seen = [row["y"] >= 0 and row["y"] + row["height"] <= end for row in rows]
        assert width == 390 or all(seen)  # a phone shows one of the panes
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.id") == "last"
    tab.close()


def test_switches_choose_a_scenario_at_the_same_line(open_page):
    """A switch keeps the line of the step; only one way to stop the gradient can be on."""
    tab = open_page("step=3")
    assert tab.get_attribute("#torch .now", "data-row") == "y"
    tab.get_by_label("detach", exact=True).check()
    assert tab.get_attribute("#torch .now", "data-row") == "y"
    assert tab.url.endswith("#detach&step=4")
    tab.get_by_label("no_grad", exact=True).check()
    tab.get_by_label("second backward").check()
    assert "#no_grad&second_backward&" in tab.url
    assert not tab.get_by_label("detach", exact=True).is_checked()
    tab.close()


@pytest.mark.slow
def test_a_link_opens_a_scenario_and_a_step(open_page):
    """A link names switches in any order; unknown words and steps past the end do no harm."""
    tab = open_page("hook&detach&nonsense&step=999")
    size = len(DATA["scenarios"]["detach&hook"]["steps"]) - 1
    assert tab.inner_text("#count") == f"step {size} of {size}"
    shown = {link.get_attribute("href") for link in tab.locator(".questions a").all()}
    text = (ROOT / "docs" / "stepper.md").read_text()
    listed = re.findall(r'href="_static/stepper.html(#[^"]+)"', text)
    for place in listed:
        name, _, step = place[1:].replace("&amp;", "&").rpartition("&step=")
        assert int(step) < len(DATA["scenarios"][name]["steps"])
    assert len(listed) > 3 < len(shown)
    for link in tab.locator(".questions a").all():
        place = link.get_attribute("href")
        name, _, step = place[1:].rpartition("&step=")
        assert int(step) < len(DATA["scenarios"][name]["steps"])
        link.click()
        assert tab.url.endswith(place)
        tab.wait_for_function(SWITCHED, arg=name.split("&"))  # after the click has returned
    tab.close()


def test_each_step_is_announced(open_page):
    """A polite live region has the sentences of both panes, and the reason of an exception."""
    tab = open_page("second_backward&step=16")
    live = tab.locator("[aria-live=polite]")
    assert live.inner_text() == (
        "SumBackward0 computes the gradient of s. "
        "JAX runs broadcast_in_dim, which gives the cotangent of s."
    )
    tab.keyboard.press("ArrowRight")
    assert "torch raises a RuntimeError in PowBackward0" in live.inner_text()
    assert "The first backward() freed y, which PowBackward0 needs." in live.inner_text()
    assert tab.locator(".failed").count() == 2
    assert tab.locator("#torch [aria-current=step]").count() == 1
    tab.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_it_fits_the_screen_and_can_be_read(open_page, width, scheme):
    """Nothing is wider than the screen, text has a contrast of 4.5, the bar stays in sight."""
    tab = open_page("", width, color_scheme=scheme, reduced_motion="reduce")
    for place in ("in_place&step=10", "detach&retain_graph&second_backward&step=17"):
        tab.evaluate("(place) => { location.hash = place; }", place)
        tab.wait_for_function("document.querySelector('.failed, .cut')")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert low_contrast(tab) == []
        bar = tab.locator(".bar").bounding_box()
        assert bar["y"] + bar["height"] <= 845
        assert tab.evaluate("document.getAnimations().length") == 0
    tab.close()


def test_panes_are_beside_each_other_or_stacked(open_page):
    """On a laptop the panes are beside each other; on a phone JAX's is below torch's."""
    for width in (390, 1280):
        tab = open_page("", width)
        torch, jax = (tab.locator(f"#{name}").bounding_box() for name in ("torch", "jax"))
        assert (torch["y"] == jax["y"]) == (width == 1280)
        assert width == 1280 or jax["y"] >= torch["y"] + torch["height"]
        assert tab.locator(".captions").is_visible() == (width == 390)
        tab.close()


# The first step that shows the answer to a question on a switch.
SHOWS = {
    "detach": "stop",
    "freeze_W2": "y",
    "hook": "1:hook",
    "in_place": "h",  # the node of `h` saves it
    "inference_mode": "y",
    "retain_graph": "2",
    "second_backward": "2",
}


@pytest.mark.parametrize("page", ["docs/course.md", "docs/stepper.md", PAGE])
def test_a_link_opens_before_the_answer(page):
    """A question's link opens at a step before the one in which its switch matters."""
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r'href="[^"]*#([\w&;]+)&amp;step=(\d+)"', text)

    assert len(links) >= 5
    for switches, step in links:
        on = switches.replace("&amp;", "&")
        key, *_ = DATA["scenarios"][on]["steps"][int(step)]
        assert key < min(ORDER.index(SHOWS[name]) for name in on.split("&")), (on, step)


@pytest.mark.parametrize("switch", ["detach", "no_grad", "inference_mode"])
def test_the_scissors_appear_when_the_gradient_is_stopped(open_page, switch):
    """A reader who predicts at step 0 sees neither pane cut; after the step, every stop is cut."""
    tab = open_page(f"{switch}&step=0")
    steps = [ORDER[key] for key, *_ in DATA["scenarios"][switch]["steps"]]
    act = steps.index("stop")
    cuts = []
    for step in (0, act - 1, act, act + 1):
        tab.evaluate("(step) => go(step)", step)
        cuts.append(tab.locator(".cut").count())
    stops = tab.locator("[data-row=stop]").count()
    tab.close()

    assert cuts == [0, 0, stops, stops] and stops == (2 if switch == "detach" else 1)


def test_a_gradient_is_none_so_far_until_backward_is_done(open_page):
    """Until `backward()` is done or raises, the page says "None so far", and after it "None"."""

    def grads(place):
        tab = open_page(place)
        texts = [text.split("\n")[-1] for text in tab.locator("#torch .grad").all_inner_texts()]
        tab.close()
        return texts

    assert grads("detach&step=0") == ["None so far", "None so far"]
    assert grads("hook&step=11")[0] == "None so far"  # the node of `h` still comes
    assert grads("detach&step=12")[0] == "None"
    assert grads("in_place&step=9") == ["None so far", "None so far"]
    assert grads("in_place&step=10") == ["None", "None"]  # torch has raised


@pytest.mark.parametrize("height", [720, 900])
def test_both_programs_are_seen_with_the_switches_on_a_projector(browser, height):
    """Where torch does not raise, no line is under the bar and no switch above the screen."""
    tab = browser.new_page(viewport={"width": 1280 + 20 * (height == 900), "height": height})
    tab.goto(PAGE.as_uri())
    raises = [
        key
        for key, one in DATA["scenarios"].items()
        if any("error" in DATA["sides"][torch] for _, torch, _ in one["steps"])
    ]
    names = [key for key in DATA["scenarios"] if key not in raises and key.count("&") <= 1]
    hidden = tab.evaluate(
        """(names) => names.flatMap((other) => {
          name = other;
          return data.scenarios[name].steps.flatMap((_, i) => {
            go(i);
            const bottoms = [...document.querySelectorAll("[role=row]")].map(
              (row) => row.getBoundingClientRect().bottom);
            const top = document.querySelector("legend").getBoundingClientRect().top;
            const bar = document.querySelector(".bar").getBoundingClientRect().top;
            return Math.max(...bottoms) <= bar && top >= 0 ? [] : [`${name} ${i}`];
          });
        })""",
        names,
    )
    tab.close()

    assert len(names) > 15 and hidden == []


def test_the_questions_are_linked_at_the_top(open_page):
    """The link shows the list of questions and keeps the switches and the step."""
    tab = open_page("hook&step=3")
    tab.click("#ask")
    box = tab.locator("#questions-title").bounding_box()
    place = tab.evaluate("location.hash")
    tab.close()

    assert box and 0 <= box["y"] < 844 and place == "#hook&step=3"


def test_the_cotangent_of_a_weight_is_in_the_column_of_cotangents(open_page):
    """In JAX it is there before `vjp` returns; in torch it arrives at a node."""
    tab = open_page("in_place&step=12")
    cells = tab.evaluate(
        "() => panes.map((pane) => [...pane.querySelectorAll('.arrived')]"
        ".map((x) => x.closest('.cell').classList[1]))"
    )
    tab.close()

    assert set(cells[1]) == {"gradient"} and set(cells[0]) <= {"kept"}


@pytest.mark.parametrize(
    ("step", "torch", "jax"),
    [
        (8, ["first call: running", "second call"], ["first call: running", "second call"]),
        (16, ["first call", "second call: running"], ["first call", "second call: running"]),
        (17, ["first call", "second call: raises"], ["first call", "second call: running"]),
    ],
)
def test_the_line_of_a_running_call_is_marked(open_page, step, torch, jax):
    """Of two lines with the same text, one is running, and one is where torch raises."""
    tab = open_page(f"second_backward&step={step}")
    marks = tab.evaluate(
        "() => panes.map((pane) => [...pane.querySelectorAll('.call')].map((x) => x.textContent))"
    )
    tab.close()

    assert marks == [torch, jax]


def test_a_call_that_has_returned_is_not_marked(open_page):
    """A program with one call has a mark only while it runs."""
    tab = open_page("step=Infinity")
    marks = {}
    for key in ("Home", "End"):
        tab.keyboard.press(key)
        marks[key] = tab.eval_on_selector_all(".call", "nodes => nodes.length")
    tab.close()

    assert marks == {"Home": 0, "End": 0}
