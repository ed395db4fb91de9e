"""Which notebook each session of the course uses, and which of its parts are for class.

docs/course.md has the plan. From the records here come the marks in the notebooks, the lists to
prepare a session in the notes for teachers, and the sheets of the worksheet.
"""

import re
from typing import NamedTuple

from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT


COURSE = ROOT / "docs" / "course.md"
IN_CLASS, EXTRA = "*In class, session {number}.*", "*Extra, for home.*"
TITLE = re.compile(r"^## (.+)$", re.MULTILINE)
UNMARKED = ("Exercises", "What to take away")  # sections that say it themselves, or belong to both
COUNTS = ("", "The first exercise is", "The first two exercises are")


class Lesson(NamedTuple):
    """A part of the course, its notebook and its sheet of paper.

    Attributes:
        notebook: The stem of the notebook.
        session: The number of the session; None for the preparation at home.
        home: The beginning of the title with which the part for home begins; by default the whole
            notebook is for class.
        exercises: How many exercises are for class; by default all.
    """

    notebook: str
    session: int | None = None
    home: str = ""
    exercises: int | None = None

    @property
    def title(self) -> str:
        """The heading."""
        return f"Session {self.session}" if self.session else "Before the first session"


LESSONS = (
    Lesson("00_ten_minutes"),
    Lesson("grad_modes", 1, "Leaving the graph", 2),
    Lesson("none_or_zero", 2, "Through control flow", 2),
    Lesson("prove_your_port", 3, "Third bug"),
)


class Row(NamedTuple):
    """A row of a session's plan in docs/course.md."""

    kind: str
    text: str
    minutes: int


def heading(session: int) -> str:
    """Return the title of a session in docs/course.md."""
    (title,) = re.findall(rf"^## (Session {session}: .+)$", _course(), re.MULTILINE)
    return title


def plan(session: int) -> list[Row]:
    """Return the rows of a session's plan."""
    _, _, rest = _course().partition(f"\n## Session {session}:")
    rows = re.findall(r"^\| ([a-z ]+) \| (.+) \| (\d+) \|$", rest.split("\n## ")[0], re.MULTILINE)
    return [Row(kind, text, int(minutes)) for kind, text, minutes in rows]


def _course() -> str:
    return COURSE.read_text(encoding="utf-8")


def parts(lesson: Lesson, titles: list[str]) -> tuple[list[str], list[str]]:
    """Return the titles of a notebook's sections for class, and of those for home."""
    titles = [title for title in titles if title not in UNMARKED]
    starts = (n for n, title in enumerate(titles) if lesson.home and title.startswith(lesson.home))
    end = next(starts, len(titles))
    return titles[:end], titles[end:]


def marked(name: str, cells: list[str]) -> list[str]:
    """Return a notebook's texts with a mark below each heading: for class, or for home.

    Args:
        name: The stem of the notebook. One that no session uses stays as it is.
        cells: The texts of the markdown cells.
    """
    lesson = next((one for one in LESSONS if one.notebook == name and one.session), None)
    if lesson is None or lesson.session is None:
        return cells
    in_class, _ = parts(lesson, [title for text in cells for title in TITLE.findall(text)])

    def mark(match: re.Match[str]) -> str:
        title = match[1]
        if title == "Exercises":
            return f"{match[0]}\n\n{_exercises(lesson)}"
        if title in UNMARKED:
            return match[0]
        text = IN_CLASS.format(number=lesson.session) if title in in_class else EXTRA
        return f"{match[0]}\n\n{text}"

    first, *rest = (TITLE.sub(mark, text) for text in cells)
    link = f"../docs/course.md#{slug(heading(lesson.session))}"
    what = "its sections say which are for class" if lesson.home else "all sections are for class"
    return [f"{first}\n\n**In the course** [session {lesson.session}]({link}): {what}.", *rest]


def _exercises(lesson: Lesson) -> str:
    """Say which exercises are for class."""
    if lesson.exercises is None:
        return IN_CLASS.format(number=lesson.session)
    which = COUNTS[lesson.exercises]
    return f"*{which} for class, session {lesson.session}. The rest is extra, for home.*"
