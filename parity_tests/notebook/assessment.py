"""Write docs/assessment.md, a test for a class to print, and its key, docs/assessment_key.md.

docs/assessment_b.md is the first test with other programs, for a second class. The programs of both
keys run in a plain session. `make pages` writes the pages.
"""

import ast
import dataclasses
import inspect
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parity_tests.notebook.assessment_questions import (
    BLANK,
    EXAMS,
    EXAMS_B,
    Exam,
    Part,
    Question,
)
from parity_tests.notebook.plain_session import printed
from parity_tests.notebook.practice import solution
from parity_tests.notebook.teachers import spaced
from parity_tests.notebook.worksheet import how_to_print, page_break, without_imports, write
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "assessment.md"
KEY = ROOT / "docs" / "assessment_key.md"
PATH_B = ROOT / "docs" / "assessment_b.md"
KEY_B = ROOT / "docs" / "assessment_b_key.md"
COURSE = ROOT / "docs" / "course.md"
NUMBER = re.compile(r"-?\d+\.?\d*")
TITLES = {"00_ten_minutes": "First steps"}  # the name of a notebook, if it is not the file's
HEAD = f"""\
<!-- written by `make pages` -->
# Assessment

<div class="screen-only">

*For teachers:* two written tests. The first asks what the three sessions of the
[course](course.md) teach. The second asks for the further notebooks and pages; leave out the
questions on what you have not reached. The answers are in the [key](assessment_key.md), which names
the page for each question.

{how_to_print("assessment", "assessment_second")} The file
`assessment.html` has the first test alone, and `assessment_second.html` has the second test. This
text is not printed.

</div>
"""
HEAD_B = f"""\
<!-- written by `make pages` -->
# Assessment, variant B

<div class="screen-only">

*For teachers:* the [first test](assessment.md#first-test) with other programs, for a second class
or a second try. The answers are in the [key](assessment_b_key.md).

{how_to_print("assessment_b")} This text is not printed.

</div>
"""
EXAM = f"""\
{{count}} questions, {{points}} points, {{minutes}} minutes, without a computer. All numbers are
float32. The usual imports are left out: `jax`, `jnp`, `lax`, `np`, `optax`, `torch`, `jaxgrad` and
`prove`.

{write("Name, date, points", 1)}"""
KEY_HEAD_B = f"""\
<!-- written by `make pages` -->
# Key to the assessment, variant B

*For teachers: the answers to [variant B](assessment_b.md), and how to mark them. You need no other
key beside this one.*

Every answer was run in a plain session, in float32, and the text under it is what it printed. The
numbers in the reasons are computed from the program. A wrong answer to expect is in quotes, and the
sentence after it says what is behind it.

The test has {{total}} points. To pass, we suggest half of the points of the questions that you set.

{how_to_print("assessment_b_key")}
"""
KEY_HEAD = f"""\
<!-- written by `make pages` -->
# Key to the assessment

*For teachers: the answers to the [assessment](assessment.md), and how to mark them.*

Every answer was run in a plain session, in float32, and the text under it is what it printed. A
wrong answer to expect is in quotes, and the sentence after it says what is behind it.

{{points}}. To pass, we suggest half of the points of the
questions that you set.

{how_to_print("assessment_key", "assessment_second_key")}
Each file has the key to one test.

A command [marks the lines and programs](teachers_large_class.md) of the first test, and writes a
list of points in which the rest is empty.

There is a [variant B](assessment_b.md) of the first test. Both keys are public. If the marks count,
change the numbers in the programs, which are in
`parity_tests/notebook/assessment_questions.py`: in `VARIANT` for variant B. Then run `python -m
parity_tests.notebook.assessment`, which runs the programs and writes the pages again.
"""


def programs(exams: Sequence[Exam] = EXAMS) -> dict[str, str]:
    """Return the program of each answer, and the wrong program of each mistake to find."""
    found = {}
    for _, _, question in numbered(exams):
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


def numbered(exams: Sequence[Exam] = EXAMS) -> Iterator[tuple[int, Part, Question]]:
    """Yield each question with its number and its part."""
    parts = (part for exam in exams for part in exam.parts)
    both = ((part, question) for part in parts for question in part.questions)
    for number, (part, question) in enumerate(both, 1):
        yield number, part, question


def in_sessions(question: Question) -> bool:
    """Return whether docs/course.md links to a question's page above "If there is more time"."""
    sessions = COURSE.read_text(encoding="utf-8").partition("\n## If there is more time\n")[0]
    return f"({question.taught}" in sessions


def shown(question: Question) -> str:
    """Return the program that a student sees.

    Raises:
        AssertionError: The line to find or to write is not in the program exactly once.
    """
    program = _program(question)
    if not question.line:
        return program
    assert program.count(question.line) == 1, f"{name(question)}: {question.line!r} is not one line"
    remark = "" if is_mistake(question) or "\n" in question.line else "  # your line"
    return program.replace(question.line, question.wrong + remark)


def page(outputs: Mapping[str, str], exams: Sequence[Exam] = EXAMS, head: str = HEAD) -> str:
    """Return the text of the assessment.

    Args:
        outputs: What each of the `programs` prints.
        exams: The tests.
        head: The text above them.
    """
    parts = [head]
    for number, part, question in numbered(exams):
        exam = next(exam for exam in exams if part in exam.parts)
        if part is exam.parts[0] and question is part.questions[0]:
            parts += [] if exam is exams[0] else [page_break("right")]
            parts += [f"## {exam.title}\n", EXAM.format(**_facts(exam))]
        if question is part.questions[0]:
            parts += ["" if part is exam.parts[0] else page_break(), f"### {part.title}\n"]
            parts.append(f"{part.task} ({part.points} points each)\n")
        parts.append(f"#### Question {number}\n")
        program = without_imports(shown(question))
        parts.append(f"{_task(question)}{_first_line(question)}\n\n```python\n{program}\n```\n")
        if question.line:
            which = f"{name(question)}, wrong" if is_mistake(question) else name(question)
            text = outputs[which].rstrip()
            parts.append(f"```text\n{text}\n```\n")
        parts.append(write("Your answer", part.lines))
    return "\n".join(filter(None, parts))


def key(outputs: Mapping[str, str], exams: Sequence[Exam] = EXAMS, head: str = KEY_HEAD) -> str:
    """Return the text of the key.

    Args:
        outputs: What each of the `programs` prints.
        exams: The tests.
        head: The text above their answers.
    """
    points = " and ".join(f"the {exam.title.lower()} has {exam.points} points" for exam in exams)
    total = sum(exam.points for exam in exams)
    parts = [head.format(points=points.capitalize(), total=total)]
    for number, part, question in numbered(exams):
        exam = next(exam for exam in exams if part in exam.parts)
        if part is exam.parts[0] and question is part.questions[0]:
            parts.append(f"## {exam.title}, after {exam.after}\n")
        if question is part.questions[0]:
            parts.append(f"### {part.title}\n")
            parts.append(f"**Marking**, {part.points} points each: {part.marking}\n")
        parts.append(_answer(number, question, outputs[name(question)]))
    return "\n".join(parts)


def worded(question: Question) -> Question:
    """Return a question whose words have the numbers of its program."""
    if question.numbers is None:
        return question
    values = {name: _text(value) for name, value in _values(question).items()}
    return dataclasses.replace(
        question,
        because=question.because.format_map(values),
        expect=question.expect.format_map(values),
        thinks=question.thinks.format_map(values),
        others=tuple(
            (says.format_map(values), thinks.format_map(values)) for says, thinks in question.others
        ),
    )


def check_words(question: Question, output: str) -> None:
    """Check that the program prints the numbers that its reason states.

    Raises:
        AssertionError: A number is not in the output.
    """
    if question.numbers is None:
        return
    printed_numbers = [float(text) for text in NUMBER.findall(output)]
    values = _values(question)
    for result in question.numbers.results:
        found = any(abs(float(values[result]) - number) < 1e-5 for number in printed_numbers)
        assert found, (
            f"{name(question)}: the reason says {_text(values[result])}, but the program prints "
            f"{output.strip()!r}; write another reason for this program"
        )


def _values(question: Question) -> Mapping[str, float | str]:
    """Return the numbers in the words of an answer.

    Raises:
        AssertionError: A number is not in the program.
    """
    assert question.numbers is not None
    program, read = _program(question), {}
    for each, pattern in question.numbers.read.items():
        match = re.search(pattern, program)
        assert match, f"{name(question)}: {pattern!r} is not in the program; write another reason"
        read[each] = ast.literal_eval(match[1])
    return question.numbers.compute(**read)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}".replace("-", "−")


def _facts(exam: Exam) -> dict[str, Any]:
    """Return what the head of a test states."""
    count = sum(len(part.questions) for part in exam.parts)
    return {"count": count, "points": exam.points, "minutes": exam.minutes}


def _answer(number: int, question: Question, output: str) -> str:
    """Return the answer to a question, its reason and the wrong answer to expect."""
    check_words(question, output)
    question = worded(question)
    lines = [
        f"#### Answer {number}\n",
        _result(question, output),
        f"{question.because}\n",
        *(
            f"- **Expect** “{says}”. {thinks}"
            for says, thinks in ((question.expect, question.thinks), *question.others)
        ),
        f"- **Taught in** [{_title(question.taught)}]({question.taught}).\n",
    ]
    return "\n".join(lines)


def _result(question: Question, output: str) -> str:
    """Return the right line, if the answer has one, and what the program prints."""
    above = "The program prints:"
    if question.line:
        which = "these lines" if "\n" in question.line else "this line"
        above = f"```python\n{question.line}\n```\n\nWith {which} the program prints:"
    return f"{above}\n\n```text\n{output.rstrip()}\n```\n"


def _first_line(question: Question) -> str:
    """Say which line of its file a program begins with, if a report names lines."""
    if "report.first" not in shown(question):
        return ""
    program = shown(question).strip("\n")
    above = program.removesuffix(without_imports(program)).count("\n")
    return f" (The first line below is line {above + 1} of the file.)"


def _task(question: Question) -> str:
    return " ".join(inspect.cleandoc(question.program.__doc__ or "").split())


def _title(link: str) -> str:
    """Return the name of the page or notebook that a link leads to."""
    stem = pathlib.PurePosixPath(link.partition("#")[0]).stem
    return TITLES.get(stem, stem)


def _program(question: Question) -> str:
    return question.changed(spaced(solution(question.program).strip()))


if __name__ == "__main__":
    outputs = printed(programs())
    PATH.write_text(page(outputs), encoding="utf-8")
    KEY.write_text(key(outputs), encoding="utf-8")
    outputs = printed(programs(EXAMS_B))
    PATH_B.write_text(page(outputs, EXAMS_B, HEAD_B), encoding="utf-8")
    KEY_B.write_text(key(outputs, EXAMS_B, KEY_HEAD_B), encoding="utf-8")
