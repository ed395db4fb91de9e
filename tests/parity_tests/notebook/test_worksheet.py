"""The worksheet has the questions and exercises of the course, on pages to print."""

import json
import re

import pytest

from parity_tests.notebook import course
from parity_tests.notebook.sessions import COURSE, LESSONS
from parity_tests.notebook.teachers import FOLDER, practice
from parity_tests.notebook.worksheet import (
    PATH,
    entries,
    how_to_print,
    open_exercises,
    page,
    page_break,
    without_imports,
    write,
)
from parity_tests.runner.settings import ROOT


PAGE = PATH.read_text(encoding="utf-8")
CSS = (ROOT / "docs" / "_static" / "jaxgrad.css").read_text(encoding="utf-8")


def test_the_page_is_current():
    """The committed page is what `make pages` writes."""
    assert page() == PAGE, "run `make pages`"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.notebook)
def test_a_lesson_has_every_question_and_exercise_of_its_notebook(lesson):
    """A lesson has the questions of the course on the stepper, then those of its notebook."""
    book = json.loads((FOLDER / f"{lesson.notebook}.ipynb").read_text(encoding="utf-8"))
    _, _, rest = PAGE.partition(f"({FOLDER.name}/{lesson.notebook}.ipynb)".replace("(", "(../"))
    part = rest.split("\n## ")[0]
    texts = [text for _, _, text, _ in practice(book)]
    stepper = [one.asks for one in course.PREDICTIONS[lesson.session]] if lesson.session else []

    assert texts and all(part.count(text) == 1 for text in [*texts, *stepper])
    places = [part.index(text) for text in [*stepper, texts[0]]]
    assert places == sorted(places)
    assert part.count("I expect") == sum(e.kind == "Predict" for e in entries(book)) + len(stepper)
    tasks = [*(e for e in entries(book) if e.kind == "Exercise"), *open_exercises(lesson.session)]
    assert part.count("My solution") == len(tasks)
    assert (course.network() in part) == bool(stepper)


def test_the_course_is_covered():
    """Each session of the course has a sheet, with the notebook that the session runs."""
    assert [one.session for one in LESSONS if one.session] == list(course.PREDICTIONS)
    before, *sessions = re.split(r"^## Session ", COURSE.read_text("utf-8"), flags=re.MULTILINE)
    sheets = [before, *sessions]
    for lesson, text in zip(LESSONS, sheets, strict=True):
        assert f"../notebooks/{lesson.notebook}.ipynb" in text
        assert f"\n## {lesson.title}\n" in PAGE


def test_an_open_exercise_is_that_of_the_course():
    """Only the third session has one, and its sheet has it in the words of the course."""
    assert [len(open_exercises(number)) for number in (None, 1, 2, 3)] == [0, 0, 0, 1]
    assert open_exercises(3)[0] in PAGE.partition("\n## Session 3\n")[2]


def test_a_lesson_is_a_double_page():
    """Each lesson begins on a right-hand page and its exercises on the next page."""
    assert PAGE.count(page_break("right")) == len(LESSONS) - 1
    assert PAGE.count(page_break()) == PAGE.count("### Exercises") == len(LESSONS)


def test_an_exercise_has_the_code_of_its_notebook_without_the_imports():
    """The code is taken from the answer's cell, and the entry names its section."""
    shown = {"text/plain": "Exercise. Correct it.\n  4"}
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text\n", "## Part"]},
        {"cell_type": "code", "source": 'exercise("a/b")', "outputs": [{"data": shown}]},
        {"cell_type": "code", "source": "# Your answer\nimport jax\n\n\ny = jax.grad\n"},
    ]

    (entry,) = entries({"cells": cells})

    assert entry == ("Exercise", "Part", "Correct it.", "y = jax.grad")
    assert without_imports("x = 1\nimport a\n") == "x = 1\nimport a"


def test_the_style_sheet_prints_what_the_page_uses():
    """Write-in lines, page breaks and screen-only text have CSS rules for print."""
    _, _, after = CSS.partition("/* The worksheet and the assessment")
    _, _, printed = after.partition("@media print")

    assert how_to_print("worksheet") in PAGE
    for name in ("write", "break-page", "break-right", "screen-only"):
        assert f'class="{name}"' in PAGE and f".{name}" in printed
    assert write("Name", 2) == '<div class="write">Name<hr><hr></div>\n'
