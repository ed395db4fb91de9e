"""The notebooks mark which of their parts the course uses in class."""

import json
import re

import pytest

from parity_tests.notebook.pairs import pairs
from parity_tests.notebook.sessions import (
    COURSE,
    LESSONS,
    TITLE,
    UNMARKED,
    Lesson,
    heading,
    marked,
    parts,
    plan,
)
from parity_tests.runner.settings import ROOT


TAUGHT = [lesson for lesson in LESSONS if lesson.session]
MARK = re.compile(r"^## (.+)\n\n(?:(\*In class, session \d\.\*)|(\*Extra, for home\.\*))$", re.M)


def cells(lesson):
    path = ROOT / "notebooks" / f"{lesson.notebook}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    return [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]


@pytest.mark.parametrize("lesson", TAUGHT, ids=lambda lesson: lesson.notebook)
def test_each_section_of_the_committed_notebook_is_marked(lesson):
    """The sections up to the one that docs/course.md names are for class, the others are extra."""
    text = "\n".join(source for kind, source in cells(lesson) if kind == "markdown")
    marks = {title: bool(in_class) for title, in_class, _ in MARK.findall(text)}
    titles = [title for title in TITLE.findall(text) if title not in UNMARKED]

    assert [title for title in marks if title not in UNMARKED] == titles
    assert [title for title in titles if marks[title]] == parts(lesson, titles)[0]
    assert f"[session {lesson.session}](../docs/course.md#session-{lesson.session}-" in text


@pytest.mark.parametrize("lesson", LESSONS[:3], ids=lambda lesson: lesson.notebook)
def test_each_section_for_class_has_code_that_a_reader_can_change(lesson):
    """It has a pair of cells that runs by itself, or a program that the notebook defines."""
    sections: dict[str, list[str]] = {}
    title = ""
    for kind, source in cells(lesson):
        if kind == "markdown":
            title = (TITLE.findall(source) or [title])[-1]
        elif title:
            sections.setdefault(title, []).append(source)
    for name in parts(lesson, list(sections))[0]:
        assert pairs(sections[name]) or any("def " in code for code in sections[name]), name


def test_the_marks_say_which_part_is_for_class():
    """A mark stands below each heading; the first cell links to the session."""
    texts = ["# Title", "## A\n\ntext\n\n## B", "## Leaving the graph: x", "## Exercises\n\nTask."]

    first, *rest = marked("grad_modes", texts)
    assert first.startswith("# Title\n\n**In the course** [session 1](../docs/course.md#session-1-")
    assert rest[0] == ("## A\n\n*In class, session 1.*\n\ntext\n\n## B\n\n*In class, session 1.*")
    assert rest[1] == "## Leaving the graph: x\n\n*Extra, for home.*"
    assert rest[2].startswith("## Exercises\n\n*The first two exercises are for class, session 1.")
    assert marked("hooks", texts) == texts


def test_the_exercises_for_class_are_those_of_the_plan():
    """The plans of sessions 1 and 2 say "the first two"; session 3 uses all exercises."""
    rows = {n: [r.text for r in plan(n) if r.kind == "exercise"] for n in (1, 2, 3)}

    assert all("Do the first two in class; the third" in rows[n][0] for n in (1, 2))
    assert [one.exercises for one in TAUGHT] == [2, 2, None]
    assert not any("first" in text for text in rows[3])


def test_a_plan_has_the_rows_of_its_session():
    """The rows of a session end before the next heading."""
    assert [row.kind for row in plan(3)] == ["read", "run", "exercise", "open exercise", "discuss"]
    assert heading(2) in COURSE.read_text(encoding="utf-8")
    assert parts(Lesson("x"), ["A", "Exercises"]) == (["A"], [])
