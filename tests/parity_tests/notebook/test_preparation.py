"""The list to prepare a session names what to print, to open and to run, and what is extra."""

import json
import re

import pytest

from parity_tests.notebook.preparation import SHORTER, prepare, sections, tabs
from parity_tests.notebook.sessions import LESSONS, plan
from parity_tests.notebook.worksheet import PATH
from parity_tests.runner.settings import ROOT


SESSIONS = {one.session: one for one in LESSONS if one.session}


@pytest.mark.parametrize("number", SESSIONS)
def test_the_pages_to_print_are_the_sheet_of_the_session(number):
    """Each lesson of the worksheet has two pages, so the sheets before have two each."""
    (first, second) = re.findall(r"pages (\d) and (\d) of", prepare(number))[0]
    titles = re.findall(r"^## (.+)$", PATH.read_text(encoding="utf-8"), re.MULTILINE)

    assert titles[int(first) // 2] == f"Session {number}" and int(second) == int(first) + 1


@pytest.mark.parametrize("number", SESSIONS)
def test_the_tabs_are_those_of_the_plan(number):
    """Each page of the plan is a tab once, and each setting of the stepper with its step."""
    plan_ = " ".join(row.text for row in plan(number))
    targets = [re.findall(r'href="([^"]+)"|\]\(([^)#]+)', link)[0] for link in tabs(number)]
    names = ["".join(target) for target in targets]

    assert len(set(names)) == len(names)
    files = set(re.findall(r"\]\(([^)#]+)|href=\"(_static/session_\d_slides[^\"]+)", plan_))
    files = {"".join(file) for file in files}
    assert {name for name in names if "stepper" not in name} == files
    asked = re.findall(r"stepper\.html#(\w+)", plan_)
    assert [re.findall(r"#(\w+)", name)[0] for name in names if "stepper" in name] == asked
    assert prepare(number).count("(step ") == len(asked)


@pytest.mark.parametrize("number", SESSIONS)
def test_the_list_fits_on_a_screen(number):
    """It has few items and few words, and names every section of the notebook's extra part."""
    text = prepare(number)
    words = len(re.sub(r"<[^>]+>|\([^)]+\)", "", text).split())

    assert text.count("\n- ") <= 7 and words <= 200
    lesson = SESSIONS[number]
    extra = text.partition("**Extra:**")[2]
    home = [title for title in sections(lesson.notebook) if title.startswith(lesson.home)]
    assert home and f"“{home[0]}”" in extra
    assert ("exercise 3" in extra) == (lesson.exercises == 2)


@pytest.mark.parametrize("number", SESSIONS)
def test_the_first_cell_prints_nothing(number):
    """A teacher who runs it sees no output, as the list says."""
    path = ROOT / "notebooks" / f"{SESSIONS[number].notebook}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    first = next(cell for cell in book["cells"] if cell["cell_type"] == "code")

    assert first["outputs"] == [] and "prints nothing" in prepare(number)


@pytest.mark.parametrize("number", [1, 2])
def test_what_can_be_left_out_is_in_the_notebook(number):
    """Each part in quotes begins a section or a paragraph of the notebook."""
    lesson = SESSIONS[number]
    script = (ROOT / "notebooks" / f"{lesson.notebook}.py").read_text(encoding="utf-8")

    for title in re.findall("“(.+?)”", SHORTER[number]):
        assert re.search(rf"^# (?:## |\*\*){re.escape(title)}", script, re.MULTILINE), title
