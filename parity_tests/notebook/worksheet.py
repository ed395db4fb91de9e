"""Write docs/worksheet.md, a sheet to print for the preparation and each session of the course.

The questions and exercises are those of the committed notebooks and of docs/course.md. `make pages`
writes the page. How many lines there are to write on follows from the height of a printed page.
"""

import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from parity_tests.notebook import course
from parity_tests.notebook.sessions import LESSONS, Lesson, plan
from parity_tests.notebook.teachers import FOLDER, practice
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "worksheet.md"
HEAD = """\
<!-- written by `make pages` -->
# Worksheet

<div class="screen-only">

*For teachers:* one sheet of paper for each session of the [course](course.md), and one for the
preparation: questions in front, exercises on the back. The answers, and the wrong answers to
expect, are in the [notes for teachers](teachers.md). An [assessment](assessment.md) follows.

{print} Print on both sides of the paper. This text is not printed.

</div>

The front of each sheet has questions. Write down what you expect, and why, **before** you run the
cell or move the stepper. The back has the exercises. The code below an exercise is that of the
notebook, without the imports.
"""
# In millimetres, as docs/_static/jaxgrad.css prints them.
PAGE, HEADING, TEXT, CODE, LABEL, LINE = 272, 11, 5.4, 4.2, 9.5, 7.5
CHARACTERS = 82  # of a line of text, with some code in it
MOST = 12  # lines to write on
FRONT = 5  # lines for a prediction and its reason
MANY = 4  # so many questions leave room to write what surprised the reader
ANSWER = "# Your answer\n"
IMPORTS = re.compile(r"\A(?:(?:import|from) [^\n]*\n)+\n*")


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD.format(print=how_to_print("worksheet")), *map(_lesson, LESSONS)])


def how_to_print(*names: str) -> str:
    """Say how a page is printed, from the files that `paper` writes."""
    links = "\nor ".join(
        f'<a href="_static/{name}.html"><code>docs/_static/{name}.html</code></a>' for name in names
    )
    return (
        f"*To print:* open {links} in a\nbrowser (on GitHub: download it first), and print it or "
        "save it as PDF. GitHub and an editor\nprint neither the lines to write on nor the page "
        "breaks of this page."
    )


def write(label: str, lines: int) -> str:
    """Return a label with lines to write on."""
    return f'<div class="write">{label}{"<hr>" * lines}</div>\n'


def page_break(side: str = "page") -> str:
    """Return a mark at which a printed page ends; `side="right"` goes on with a new sheet."""
    return f'<div class="break-{side}"></div>\n'


def without_imports(code: str) -> str:
    """Return a script without the imports at its beginning."""
    return IMPORTS.sub("", code).strip()


class Entry(NamedTuple):
    """A question or an exercise of a notebook."""

    kind: str
    section: str  # the heading above it
    text: str
    start: str  # the code that an exercise starts from


def entries(book: Any) -> Iterator[Entry]:
    """Yield the questions and exercises of a notebook in their order."""
    section = ""
    for cell, after in itertools.pairwise([*book["cells"], {"source": ""}]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            section = (re.findall(r"^#+ (.+)$", source, re.MULTILINE) or [section])[-1]
        for _, kind, text, _ in practice({"cells": [cell]}):
            _, _, code = "".join(after["source"]).partition(ANSWER)
            yield Entry(kind, section, text, without_imports(code))


def _lesson(lesson: Lesson) -> str:
    """Return both pages of a sheet."""
    path = FOLDER / f"{lesson.notebook}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    both = list(entries(book))
    questions = [f"{e.text} (Section “{e.section}”)" for e in both if e.kind == "Predict"]
    tasks = [entry for entry in both if entry.kind == "Exercise"]
    if lesson.session:
        predictions = course.PREDICTIONS[lesson.session]
        on_stepper = [f"{one.asks} (Stepper, setting `{one.setting}`)" for one in predictions]
        questions = [*on_stepper, *questions]  # in the order of the course
        tasks += [Entry("Exercise", "", text, "") for text in open_exercises(lesson.session)]
    else:
        predictions = ()
    (name, *_) = re.findall(r"^# (.+)$", "".join(book["cells"][0]["source"]), re.MULTILINE)
    notebook = f"The notebook is *{name}*: [{path.name}](../notebooks/{path.name})."
    above = [notebook, *([course.network()] if predictions else [])]
    front = _height(*above, *questions) + 2 * HEADING + LABEL * (1 + len(questions))
    surprise = [] if len(questions) > MANY else [write("What surprised me", 1)]
    front += LABEL * len(surprise)
    back = _height(*(task.text for task in tasks)) + HEADING
    back += sum(CODE * (task.start.count("\n") + 3) for task in tasks if task.start)
    reason = min(FRONT, _lines(PAGE - front, len(questions)))
    lines = min(MOST, _lines(PAGE - back, len(tasks)))
    return "\n".join(
        [
            "" if lesson is LESSONS[0] else page_break("right"),
            f"## {lesson.title}\n",
            *(f"{text}\n" for text in above),
            write("Name, date", 1),
            "### Predict, then run\n",
            *(_question(number, text, reason) for number, text in enumerate(questions, 1)),
            *surprise,
            page_break(),
            "### Exercises\n",
            *(_exercise(number, task, lines) for number, task in enumerate(tasks, 1)),
        ]
    )


def open_exercises(session: int | None) -> list[str]:
    """Return the open exercises of a session of the course, which no notebook has."""
    return [row.text for row in plan(session) if row.kind == "open exercise"] if session else []


def _height(*texts: str) -> float:
    """Return the height of paragraphs."""
    return sum(TEXT * math.ceil(len(text) / CHARACTERS) for text in texts)


def _lines(room: float, count: int) -> int:
    """Return how many lines to write on each of `count` blocks gets in a room."""
    return 1 + int((room / count - LABEL) / LINE)


def _question(number: int, text: str, reason: int) -> str:
    """Return a question with room for a prediction with its reason, and for the result."""
    room = [write("I expect, because", reason), write("The result is", 1)]
    return "\n".join([f"**{number}.** {text}\n", *room])


def _exercise(number: int, task: Entry, lines: int) -> str:
    """Return an exercise with the code that it starts from and room for a solution."""
    code = f"```python\n{task.start}\n```\n" if task.start else ""
    room = write("My solution, and what it prints", lines)
    return "\n".join(filter(None, [f"**{number}.** {task.text}\n", code, room]))


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
