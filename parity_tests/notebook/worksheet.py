"""Write docs/worksheet.md, a double page to print for each of the first lessons.

The questions and exercises are those of the committed notebooks. `make pages` writes the page.
"""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from parity_tests.notebook import course
from parity_tests.notebook.teachers import FOLDER, practice
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "worksheet.md"


class Lesson(NamedTuple):
    """A double page: a notebook, and the session of the course whose predictions go with it."""

    notebook: str
    session: int | None = None


LESSONS = (
    Lesson("00_ten_minutes"),
    Lesson("grad_modes", 1),
    Lesson("backward"),
    Lesson("none_or_zero", 2),
    Lesson("prove_your_port", 3),
)
HEAD = """\
<!-- written by `make pages` -->
# Worksheet

<div class="screen-only">

*For teachers:* two pages for each of the first lessons. Print this page from the browser on both
sides of the paper, and each lesson is one sheet; this paragraph is not printed. The answers, and
the wrong answers to expect, are in the [notes for teachers](teachers.md). An
[assessment](assessment.md) follows the [course](course.md).

</div>

The first page of each lesson has questions. Write down what you expect, and why, **before** you
run the cell or move the stepper. The second page has the exercises. The code below an exercise is
that of the notebook, without the imports.
"""
# The room on a page of exercises, in lines to write on, and what a task takes of it.
ROOM, TASK, CODE = 33, 5, 0.5
FEW = 3  # so many questions leave room for a longer reason
ANSWER = "# Your answer\n"
IMPORTS = re.compile(r"\A(?:(?:import|from) [^\n]*\n)+\n*")


def page() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *map(_lesson, LESSONS)])


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
    """Return both pages of a lesson."""
    path = FOLDER / f"{lesson.notebook}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    (title, *_) = re.findall(r"^# (.+)$", "".join(book["cells"][0]["source"]), re.MULTILINE)
    both = list(entries(book))
    questions = [f"{e.text} (Section “{e.section}”)" for e in both if e.kind == "Predict"]
    tasks = [entry for entry in both if entry.kind == "Exercise"]
    predictions = course.PREDICTIONS[lesson.session] if lesson.session else ()
    stepper = [f"{one.asks} (Stepper, setting `{one.setting}`)" for one in predictions]
    code = sum(task.start.count("\n") + 1 for task in tasks)
    lines = int(ROOM - CODE * code) // len(tasks) - TASK
    numbered = enumerate([*questions, *stepper], 1)
    reason = 2 if len(questions) + len(stepper) > FEW else 4
    return "\n".join(
        [
            "" if lesson is LESSONS[0] else page_break("right"),
            f"## {title}\n",
            f"The notebook is [{lesson.notebook}](../notebooks/{path.name}).\n",
            write("Name, date", 1),
            "### Predict, then run\n",
            *(_question(number, text, reason) for number, text in numbered),
            write("What surprised me", 2),
            page_break(),
            "### Exercises\n",
            *(_exercise(number, task, lines) for number, task in enumerate(tasks, 1)),
        ]
    )


def _question(number: int, text: str, reason: int) -> str:
    """Return a question with room for a prediction, a reason and the result."""
    room = [write("I expect", 1), write("because", reason), write("The result is", 1)]
    return "\n".join([f"**{number}.** {text}\n", *room])


def _exercise(number: int, task: Entry, lines: int) -> str:
    """Return an exercise with the code that it starts from and room for a solution."""
    code = f"```python\n{task.start}\n```\n" if task.start else ""
    room = write("My solution, and what it prints", lines)
    return "\n".join(filter(None, [f"**{number}.** {task.text}\n", code, room]))


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
