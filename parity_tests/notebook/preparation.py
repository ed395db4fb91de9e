"""List what a teacher prepares for a session: what to print, to open and to run, and what is extra.

The links are those of the session's plan in docs/course.md, and the sections those of its notebook.
"""

import re

from parity_tests.notebook.sessions import LESSONS, heading, parts, plan
from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT


MARKDOWN_LINK = r"(?<!!)\[[^\]]+\]\([^)\s]+\)"
HTML_LINK = r"<a href=[^>]+>.*?</a>(?: \(step \d+\))?"
LINK = re.compile(f"{MARKDOWN_LINK}|{HTML_LINK}")
WORDS = ("", "exercise 1", "exercises 1 and 2", "exercises 1 to 3")
MANY = 4  # titles that are listed
BEFORE = {  # what a session needs besides
    3: "**At home before,** each student ports a torch module of at most three layers, or reads "
    "`Net` and its port in the notebook. All read [Read a report in three lines]"
    "(read_a_report.md) and one part of the traps.",
}
SHORTER = {  # what can go, if the class is slow
    1: "“Around one term of a sum” in the section “`no_grad`”, and exercise 1, which is like it.",
    2: "the end of the first section, from “Where the frameworks must differ” on.",
    3: "half of the open exercise: only one neighbour hides a mistake.",
}
FOR_FLAX = {
    3: " If your class already uses flax, show the nnx model after the first bug (5 minutes), and "
    "ask before you run it: which line of the nnx model differs from torch?",
}


def prepare(number: int) -> str:
    """Return the list of what a teacher prepares for a session."""
    (index, lesson) = next(
        (index, one) for index, one in enumerate(LESSONS) if one.session == number
    )
    path = f"../notebooks/{lesson.notebook}.ipynb"
    rows = plan(number)
    titles = sections(lesson.notebook)
    in_class, home = parts(lesson, titles)
    count = (ROOT / "notebooks" / f"{lesson.notebook}.py").read_text("utf-8").count("\nexercise(")
    taught = count if lesson.exercises is None else lesson.exercises
    minutes = {kind: _minutes(number, kind) for kind in ("run", "exercise")}
    extra = [f"the {_listed(home)}"]
    extra += [f"exercise {count}"] if taught < count else []
    items = [
        f"**Print** pages {2 * index + 1} and {2 * index + 2} of "
        '<a href="_static/worksheet.html"><code>docs/_static/worksheet.html</code></a>, on both '
        "sides of one sheet for each student.",
        f"**Open** in this order: {', '.join(tabs(number))}.",
        f"**Run before** on each laptop: the first code cell of the [notebook]({path}). It prints "
        "nothing.",
        f"**For class** in the notebook: the {_listed(in_class)} ({minutes['run']} "
        f"minutes), and {WORDS[taught]} ({minutes['exercise']} minutes).",
        f"**Extra:** {' and '.join(extra)}.{FOR_FLAX.get(number, '')}",
        f"**If time is short,** leave out {SHORTER[number]}",
    ]
    items = [*([BEFORE[number]] if number in BEFORE else []), *items]
    total = sum(row.minutes for row in rows)
    title = f"## Prepare session {number}\n"
    anchor = slug(heading(number))
    plan_ = (
        f"[The plan](course.md#{anchor}) has {total} minutes. The notebook marks the same parts.\n"
    )
    return "\n".join([title, plan_, *(f"- {item}" for item in items), ""])


def tabs(number: int) -> list[str]:
    """Return the links of a session's plan, one for each page, and one for each stepper setting."""
    links = [link for row in plan(number) for link in LINK.findall(row.text)]
    pages: dict[str, str] = {}
    for link in links:
        (target,) = re.findall(r'href="([^"]+)"|\]\(([^)#]+)', link)
        pages.setdefault("".join(target), link)
    return list(pages.values())


def sections(notebook: str) -> list[str]:
    """Return the titles of a notebook's sections."""
    script = (ROOT / "notebooks" / f"{notebook}.py").read_text(encoding="utf-8")
    return re.findall(r"^# ## (.+)$", script, re.MULTILINE)


def _minutes(number: int, kind: str) -> int:
    return sum(row.minutes for row in plan(number) if row.kind == kind)


def _listed(titles: list[str]) -> str:
    """Quote the titles; if there are many, quote only the first and the last."""
    first, *_, last = quoted = [f"“{title}”" for title in titles] * (1 if len(titles) > 1 else 2)
    if len(titles) > MANY:
        return f"sections from {first} to {last}"
    return f"sections {', '.join(quoted)}" if len(titles) > 1 else f"section {first}"
