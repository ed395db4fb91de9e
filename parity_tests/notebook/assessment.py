"""Write docs/assessment.md, a test for a class to print, and its key, docs/assessment_key.md.

The programs of the key run in a plain session. `make pages` writes the pages.
"""

import inspect
import pathlib
from collections.abc import Iterator, Mapping, Sequence

from parity_tests.notebook.assessment_questions import BLANK, PARTS, Part, Question
from parity_tests.notebook.plain_session import printed
from parity_tests.notebook.practice import solution
from parity_tests.notebook.teachers import spaced
from parity_tests.notebook.worksheet import page_break, without_imports, write
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "assessment.md"
KEY = ROOT / "docs" / "assessment_key.md"
COURSE = ROOT / "docs" / "course.md"
TOTAL = sum(part.points * len(part.questions) for part in PARTS)
HEAD = f"""\
<!-- written by `make pages` -->
# Assessment

<div class="screen-only">

*For teachers:* a written test after the [course](course.md). Print this page from the browser; this
paragraph is not printed. The answers are in the [key](assessment_key.md). The three sessions teach
questions {{sessions}} ({{points}} points). The others need further notebooks or pages, most of them
listed under [If there is more time](course.md#if-there-is-more-time); the key names the page for
each question. Leave out what you have not reached.

</div>

{{count}} questions, {TOTAL} points, 60 minutes, without a computer. All numbers are float32. The
usual imports are left out: `jax`, `jnp`, `lax`, `optax`, `torch` and `jaxgrad`.

{write("Name, date, points", 1)}"""
KEY_HEAD = f"""\
<!-- written by `make pages` -->
# Key to the assessment

*For teachers: the answers to the [assessment](assessment.md), and how to mark them.*

Every answer was run in a plain session, in float32, and the text under it is what it printed. A
wrong answer to expect is in quotes, and the sentence after it says what is behind it. There are
{TOTAL} points. To pass, we suggest half of the points of the questions that you set: {TOTAL // 2}
for all, {{half}} for those that the three sessions teach ({{sessions}}).

This key is public. If the marks count, change the numbers in the programs, which are in
`parity_tests/notebook/assessment_questions.py`. Then run `python -m
parity_tests.notebook.assessment`, which runs the programs and writes both pages again.
"""


def programs() -> dict[str, str]:
    """Return the program of each answer, and the wrong program of each mistake to find."""
    found = {}
    for _, _, question in numbered():
        found[name(question)] = _program(question)
        if is_mistake(question):
            found[f"{name(question)}, wrong"] = shown(question)
    return found


def is_mistake(question: Question) -> bool:
    """Return whether a student corrects a line, instead of writing one or predicting the output."""
    return bool(question.line) and not question.wrong.endswith(BLANK)


def name(question: Question) -> str:
    """Return the name of a question, that of its function."""
    return question.program.__name__


def numbered() -> Iterator[tuple[int, Part, Question]]:
    """Yield each question with its number and its part."""
    both = ((part, question) for part in PARTS for question in part.questions)
    for number, (part, question) in enumerate(both, 1):
        yield number, part, question


def in_sessions() -> tuple[list[int], int]:
    """Return the numbers of the questions that the three sessions teach, and their points.

    A question counts if docs/course.md links to its page or notebook above "If there is more time".
    """
    sessions = COURSE.read_text(encoding="utf-8").partition("\n## If there is more time\n")[0]
    taught = [(n, part.points) for n, part, q in numbered() if f"({q.taught}" in sessions]
    return [number for number, _ in taught], sum(points for _, points in taught)


def listed(numbers: Sequence[int]) -> str:
    """Return numbers as a list in a sentence."""
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}"


def shown(question: Question) -> str:
    """Return the program that a student sees.

    Raises:
        AssertionError: The line to find or to write is not in the program exactly once.
    """
    program = _program(question)
    if not question.line:
        return program
    assert program.count(question.line) == 1, f"{name(question)}: {question.line!r} is not one line"
    remark = "" if is_mistake(question) else "  # your line"
    return program.replace(question.line, question.wrong + remark)


def page(outputs: Mapping[str, str]) -> str:
    """Return the text of the assessment.

    Args:
        outputs: What each of the `programs` prints.
    """
    numbers, points = in_sessions()
    parts = [HEAD.format(count=len(list(numbered())), sessions=listed(numbers), points=points)]
    for number, part, question in numbered():
        if question is part.questions[0]:
            parts += ["" if part is PARTS[0] else page_break(), f"## {part.title}\n"]
            parts.append(f"{part.task} ({part.points} points each)\n")
        parts.append(f"### Question {number}\n")
        parts.append(f"{_task(question)}\n\n```python\n{without_imports(shown(question))}\n```\n")
        if question.line:
            which = f"{name(question)}, wrong" if is_mistake(question) else name(question)
            parts.append(f"```text\n{outputs[which].rstrip()}\n```\n")
        parts.append(write("Your answer", part.lines))
    return "\n".join(filter(None, parts))


def key(outputs: Mapping[str, str]) -> str:
    """Return the text of the key.

    Args:
        outputs: What each of the `programs` prints.
    """
    numbers, points = in_sessions()
    parts = [KEY_HEAD.format(sessions=listed(numbers), half=f"{points / 2:g}")]
    for number, part, question in numbered():
        if question is part.questions[0]:
            parts.append(f"## {part.title}\n")
            parts.append(f"**Marking**, {part.points} points each: {part.marking}\n")
        parts.append(_answer(number, question, outputs[name(question)]))
    return "\n".join(parts)


def _answer(number: int, question: Question, output: str) -> str:
    """Return the answer to a question, its reason and the wrong answer to expect."""
    lines = [f"### Answer {number}\n"]
    if question.line:
        lines.append(f"```python\n{question.line}\n```\n\nWith this line the program prints:\n")
    else:
        lines.append("The program prints:\n")
    lines += [
        f"```text\n{output.rstrip()}\n```\n",
        f"{question.because}\n",
        f"- **Expect** “{question.expect}”. {question.thinks}",
        f"- **Taught in** [{_title(question.taught)}]({question.taught}).\n",
    ]
    return "\n".join(lines)


def _task(question: Question) -> str:
    return " ".join(inspect.cleandoc(question.program.__doc__ or "").split())


def _title(link: str) -> str:
    """Return the name of the page or notebook that a link leads to."""
    return pathlib.PurePosixPath(link.partition("#")[0]).stem


def _program(question: Question) -> str:
    return spaced(solution(question.program).strip())


if __name__ == "__main__":
    outputs = printed(programs())
    PATH.write_text(page(outputs), encoding="utf-8")
    KEY.write_text(key(outputs), encoding="utf-8")
