"""Write docs/teachers.md and a page for each session: the answers, right and wrong, of a class.

The questions and their answers are read from the committed notebooks, so the pages show what a
student sees. The model answers run in a plain session. `make pages` writes the pages.
"""

import importlib
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from parity_tests.notebook import course
from parity_tests.notebook.assessment_questions import EXAMS
from parity_tests.notebook.plain_session import printed
from parity_tests.notebook.practice import SOLUTIONS, exercises, solution
from parity_tests.notebook.preparation import prepare
from parity_tests.notebook.right_answers import ANSWERS
from parity_tests.notebook.sessions import LESSONS, heading
from parity_tests.notebook.wrong_answers import EXERCISES, QUESTIONS, WrongAnswer
from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT


DOCS = ROOT / "docs"
WRITTEN = "<!-- written by `make pages` -->\n"
HEAD = """\
# Notes for teachers

*The question: which wrong answers will come, what is behind them, and what is a right one?*

{pages}

Each page of a session begins with what to prepare: what to print, which tabs to open, which cells
are for class and which are extra. Then come the questions that a student answers before the result
is shown, the exercises and the discussion. The answers are those of the stepper and of the executed
notebooks. Below each model answer is what it prints in a plain session, in float32. (The notebooks
run JAX in float64, so there the last digits, the dtypes and the sizes in bytes differ.) A wrong
answer to expect is in quotes, and the sentence after it says what is behind it or what to show:
correcting the idea helps longer than correcting the answer.

**How to read an answer.** The first sentence answers the question. *Computed* has the results that
the notebook shows, so that you can point at them. It names each result by its path, as the table of
the notebook does:
`grads/l1/bias` is the gradient of the bias of layer `l1`, and `1/step` the entry `step` after the
second step (steps are counted from 0). If the frameworks differ, both results are given. A dash (–)
means that this framework has no such result, for instance because it raises. `norm 0.414 (3×10)`
stands for an array of the shape 3×10 with this norm.

**To run a model answer**, save it as a file. `port` and `prove` read the source of a model, which a
Python prompt may not keep; a notebook keeps it.

**How to use it.** Ask for a written prediction before anyone runs the cell, and for a reason. Where
the class disagrees, let two students argue before you unfold the answer. An exercise is solved when
its program runs and its numbers agree with torch's; other solutions than the model answer are fine.

**To print.** The [worksheet](worksheet.md) has the questions and exercises of the course, with
lines to write on. The [assessment](assessment.md) has a test on the three sessions and one on the
further notebooks; its [key](assessment_key.md) has the answers and the marking. The first test has
a [variant B](assessment_b.md) with a [key](assessment_b_key.md). Each page says
which offline file to print: the first and the second test are two files, and so are their keys. The
pages of notes print with their model answers from the site of
`make docs`.

**To project.** The slides of <a href="_static/session_1_slides.html">session 1</a>,
<a href="_static/session_2_slides.html">session 2</a> and
<a href="_static/session_3_slides.html">session 3</a> have the figures, programs and outputs of what
the class would read, and of the lab on `prove`. The minutes of the plan are for reading;
if you speak, they are for the slides.
"""
LARGE_CLASS = """\
# Notes for teachers: a large class

*The question: how do {students} students install, practise and get marks?*

**Download once.** Fill a folder on one laptop, in a clone of the repository. The others need the
same system and the same version of Python; for a second system, fill a second folder.

```bash
# The CPU build of torch comes first: the second line then takes it from the folder.
pip wheel torch --index-url https://download.pytorch.org/whl/cpu --wheel-dir wheels
pip wheel ".[notebooks]" jupyterlab --find-links wheels --wheel-dir wheels
```

Give each laptop the clone with this folder, on a USB stick for instance. This installs without a
network, in an [environment](course.md#install) of its own:

```bash
pip install --no-index --find-links wheels "jaxgrad[notebooks]" jupyterlab
```

**Notebooks without solutions.** `python notebooks/build.py --without-solutions grad_modes
none_or_zero prove_your_port` writes copies of the notebooks of the three sessions into the folder
`notebooks_for_class`, with the tasks of the exercises and without their solutions. The answers of
the questions stay folded in them. A student who looks for the solutions finds them in the clone.

**What marks itself.** `check` in the notebooks compares the answer of an exercise with torch and
says what differs, so you collect no exercises: let each student show the line that begins with
`Right`. In the first test, questions {runnable} ask for a line or a program. A command runs them,
for the input on the paper and for a second one, and gives the points for a right line. Type the
answers into a file, or let the class type them:

```text
# Ada
9: return jnp.sum(jax.nn.relu(x))
11: 1 + 0.5 * lax.stop_gradient(w) * after
12: total = jax.tree.map(lambda a, b: a + b, first, second)

# Alan
9: return jnp.sum(jnp.maximum(x, 0.0))
10: stopped = lax.stop_gradient(jnp.array(3.0)) => stopped = lax.stop_gradient(jnp.array(1.5))
12: total = first + second
16:
target = 1 + 0.5 * jax.nn.relu(after @ params["weight"].T + params["bias"])
def loss(p):
    return jnp.mean((jax.nn.relu(now @ p["weight"].T + p["bias"]) - target) ** 2)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
```

Put an empty line above each name. A line with `#` inside an answer is a comment and belongs to the
answer. It is a name only if a question number follows in the next line that is not empty, and if it
comes after an empty line or that number does not exceed the last one. After an empty line, a name
without answers may also come last or before another name. The command lists under `Read` the lines
that may be either.

An answer takes the place of the wrong line, or of the dots. The `return`, or the name and the `=`,
may be left out if the rest is one expression, as in question 11 of Ada. If a student changes
another line, write the old and the new one with `=>` between them. A table `answers.csv` with the
columns `student`, `9`, `10` and so on is fine too. Leave the usual imports of the paper out of the
answers: the command adds them.

```bash
python -m parity_tests.notebook.grade answers.txt  # or --variant-b answers.txt
```

```text
          9   10   11   12   14   15   16  sum
points    3    3    5    5    3    3    8   30
Ada       3    0    5    5    0    0    0   13
Alan      ?    ?    0    ?    0    0    8    8

Read:
Alan, question 9: prints 'JAX: [0.5, 1.0]', the key 'JAX: [0.0, 1.0]'
Alan, question 10: prints 'JAX: 10.0', the key 'JAX: 5.0', with a second input
Alan, question 12: raises TypeError: unsupported operand type(s) for +: 'dict' and 'dict'
```

The command first prints the names, such as `2 names: Ada, Alan`. With `--names` it prints only them
and the lines that may be either, so that you can check the file. An answer may run for 60 seconds
on each input; `--limit 120` changes that. An answer that does not end, or that ends its process,
gets a question mark, and the other answers get their marks.

A question mark is an answer to read: the key gives part of the points for an idea. The sentences
that explain an answer have to be read too. The command runs what is in the file: read a file that
you have not typed yourself.

**One list of points.** With `--csv`, the command also writes a table for a spreadsheet, with a row
for each student:

```bash
python -m parity_tests.notebook.grade answers.txt --csv points.csv
```

```text
student,1,2,3,4,5,6,7,8,9,9 text,10,10 text,11,12,13,14,14 text,15,15 text,16,sum,read
points,3,3,3,3,3,3,3,3,3,2,3,2,5,5,6,3,3,3,3,8,=SUM(B2:U2),
```

The second row has the most points of each column. The lines and programs have their points or a
question mark, which you replace by points. What you mark by hand is empty: `9 text` is the
explanation of question 9. The column `sum` adds what is filled in, and `read` says why an answer
has a question mark. The time depends on the answers to
questions 14 and 15, which run `prove`, and on those that do not end. Equal answers run once.

**Marking the rest.** The first test has {count} questions, so {students} students give you
{answers} answers. We have not measured how long they take; half a minute each, as a guess, makes
{hours} hours. Mark question by question instead of paper by paper, and leave out a part of the test
if that is too long: the points of each part are on the paper.

**Pairs.** The open exercise of session 3 is for two neighbours with a laptop each. You cannot visit
{pairs} pairs in 30 minutes, and need not: `prove` tells who has found the mistake. Let each pair
write the surfaces that fail and the line on the worksheet, and collect it. To a student without an
idea, give one of the four lines of [the table](teachers_session_3.md#the-open-exercise). With an
odd number of students, three form a ring.

**Your own numbers.** The keys of both variants are public: they are pages of this site and files of
the clone. For a test that counts, change variant B in your clone: `VARIANT` in
`parity_tests/notebook/assessment_questions.py` lists for each question the parts of its program
that are replaced, such as `("torch.tensor(2.0", "torch.tensor(3.0")`. Then run

```bash
python -m parity_tests.notebook.assessment
python -m parity_tests.notebook.paper
```

This runs all programs, and writes the test and the key with the new numbers. The numbers in the
reasons are computed from the programs too. If a program no longer prints what its reason says, the
command stops and names the question. Print
`docs/_static/assessment_b.html` and keep the changed clone, because its key is nowhere else. The
class gets the unchanged clone.
"""
STUDENTS = 60  # of the example in the notes
SECONDS = 30  # a guess, and called one, of the time to mark an answer
SESSION = """\
# Notes for teachers: session {number}

*For [{heading}](course.md#{anchor}). [How to read an answer](teachers.md).*
"""
FURTHER = """\
# Notes for teachers: {title}

*{text} [How to read an answer](teachers.md).*
"""
SECOND_TEST = ("hooks", "clipping", "actor_critic", "optimizers", "custom")  # as the course says
FOLDER = ROOT / "notebooks"
NEGATIVE_ZERO = re.compile(r"(?<![\w.])-0(?![\w.])")
CALL = re.compile(r'(?:question|exercise)\("([^"]+)"')


def notebooks() -> list[pathlib.Path]:
    """Return the executed notebooks in the order of their README."""
    order = re.findall(r"\((\w+)\.ipynb\)", (FOLDER / "README.md").read_text(encoding="utf-8"))
    return [FOLDER / f"{name}.ipynb" for name in order]


def model_answers() -> dict[str, str]:
    """Return the code of each exercise's model answer."""
    return {name: _code(name) for name in exercises()}


def pages(outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the text of each page by the name of its file.

    Args:
        outputs: What each model answer prints.
    """
    used = {lesson.notebook for lesson in LESSONS}
    further = [path for path in notebooks() if path.stem not in used]
    second = [path for path in further if path.stem in SECOND_TEST]
    rest = [path for path in further if path.stem not in SECOND_TEST]
    sessions = {session_file(one.session): one.session for one in LESSONS if one.session}
    links = [
        *(f"- [{heading(number)}]({name})" for name, number in sessions.items()),
        "- [A large class](teachers_large_class.md)",
        "- [One lesson](one_lesson.md), with its [answers](one_lesson_answers.md)",
        "- [The notebooks of the second test](teachers_second_test.md)",
        "- [The other notebooks](teachers_notebooks.md)",
    ]
    return {
        "teachers.md": WRITTEN + HEAD.format(pages="\n".join(links)),
        "teachers_large_class.md": WRITTEN + large_class(),
        **{name: WRITTEN + _session(number, outputs) for name, number in sessions.items()},
        "teachers_second_test.md": WRITTEN
        + _further(
            "the second test",
            "The notebooks that the [second test](assessment.md#second-test) asks about.",
            second,
            outputs,
        ),
        "teachers_notebooks.md": WRITTEN
        + _further(
            "the other notebooks",
            "The notebooks that neither a session of the [course](course.md) nor the "
            "[second test](teachers_second_test.md) uses.",
            rest,
            outputs,
        ),
    }


def large_class() -> str:
    """Return the notes for a large class, with the counts of the first test."""
    questions = [question for part in EXAMS[0].parts for question in part.questions]
    *some, last = (str(n) for n, question in enumerate(questions, 1) if question.line)
    answers = STUDENTS * len(questions)
    return LARGE_CLASS.format(
        runnable=f"{', '.join(some)} and {last}",
        count=len(questions),
        students=STUDENTS,
        answers=answers,
        hours=answers * SECONDS // 3600,
        pairs=STUDENTS // 2,
    )


def session_file(number: int) -> str:
    """Return the name of the page of a session."""
    return f"teachers_session_{number}.md"


def _session(number: int, outputs: Mapping[str, str]) -> str:
    """Return the page of a session."""
    title = heading(number)
    before = [FOLDER / f"{one.notebook}.ipynb" for one in LESSONS if not one.session]
    books = [FOLDER / f"{one.notebook}.ipynb" for one in LESSONS if one.session == number]
    books = [*(before if number == 1 else []), *books]
    parts = [
        prepare(number),
        course.section(number),
        *(part for path in books for part in _notebook(path, outputs)),
        course.discussion(number),
    ]
    top = SESSION.format(number=number, heading=title, anchor=slug(title))
    return "\n".join([top, *filter(None, parts)])


def _further(title: str, text: str, paths: list[pathlib.Path], outputs: Mapping[str, str]) -> str:
    """Return a page on notebooks that no session uses."""
    body = "\n".join(part for path in paths for part in _notebook(path, outputs))
    return "\n".join([FURTHER.format(title=title, text=text), contents(body), body])


def contents(text: str) -> str:
    """Return a list of links to the sections of a page."""
    titles = re.findall(r"^## (?:\[(.+?)\]\(|(.+)$)", text, re.MULTILINE)
    names = [linked or plain for linked, plain in titles]
    return "\n".join([*(f"- [{name}](#{slug(name)})" for name in names), ""])


def _notebook(path: pathlib.Path, outputs: Mapping[str, str]) -> Iterator[str]:
    """Yield the sections of one notebook: its questions, then its exercises."""
    book = json.loads(path.read_text(encoding="utf-8"))
    (title, *_) = re.findall(r"^# (.+)$", "".join(book["cells"][0]["source"]), re.MULTILINE)
    entries = list(practice(book))
    if entries:
        yield f"## [{title}](../notebooks/{path.name})\n"
    for name, kind, text, rest in entries:
        if kind == "Predict":
            yield _question(name, text, rest)
        else:
            yield _exercise(name, text, outputs[name])


def practice(book: Any) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield each question and exercise of a notebook: its name, kind, text and lines of output.

    The name is the id in the call, or the text of a question that the notebook asks by itself.
    """
    for cell in book["cells"]:
        for output in cell.get("outputs", ()):
            first, *rest = "".join(output.get("data", {}).get("text/plain", "")).splitlines() or [
                ""
            ]
            asked = re.match(r"(Predict|Exercise)\. (.*)", first)
            if asked:
                called = CALL.search("".join(cell["source"]))
                yield (called[1] if called else asked[2]), asked[1], asked[2], rest


def _question(name: str, text: str, rest: list[str]) -> str:
    """Return a question with the computed answer and the wrong one."""
    *rows, because = rest
    results = "; ".join(_answer(*row.strip().split(": ", 1)) for row in rows)
    return "\n".join(
        [
            f"**Predict.** {text}\n",
            f"- **Answer.** {ANSWERS[name]} {because}",
            f"- **Computed.** {results}.",
            _wrong(QUESTIONS.get(name)),
        ]
    )


def _answer(place: str, values: str) -> str:
    """Return the result at one place, once if both frameworks have the same."""
    torch, *signed = values.split(" | ")
    both = signed and signed[0] in "=~" and torch == signed[-1]
    torch, jax = (_unsigned(text) for text in (torch, (signed or [torch])[-1]))
    shown = f"torch {torch}, JAX {jax}" if signed and not both else torch
    return f"`{place}`: {shown}"


def _unsigned(text: str) -> str:
    """Return a result as code, without the sign of a zero, which says nothing here; or a dash."""
    return text if text == "–" else f"`{NEGATIVE_ZERO.sub('0', text)}`"


def _exercise(name: str, text: str, output: str) -> str:
    """Return an exercise with the usual mistake, and the model answer folded."""
    return "\n".join(
        [
            f"**Exercise.** {text}\n",
            _wrong(EXERCISES.get(name)),
            "<details>\n<summary>Model answer</summary>\n",
            f"```python\n{_code(name)}\n```\n",
            "It prints:\n",
            f"```text\n{output.rstrip()}\n```\n",
            "</details>\n",
        ]
    )


def _code(name: str) -> str:
    """Return the code of the model answer of an exercise."""
    theme, _, stem = name.partition("/")
    module = importlib.import_module(f"{SOLUTIONS}.{theme}")
    return spaced(solution(getattr(module, stem)).strip())


def spaced(code: str) -> str:
    """Return a script with two blank lines around its functions and classes, as ruff wants them."""
    before = re.sub(r"\n\n+(?=(?:def|class) |@)", "\n\n\n", code)
    return re.sub(r"(\n +\S[^\n]*)\n\n(?=\S)", r"\1\n\n\n", before)


def _wrong(answer: WrongAnswer | None) -> str:
    """Return the wrong answer to expect; a test names a question or exercise that has none."""
    return f"- **Expect** “{answer.says}”. {answer.thinks}\n" if answer else ""


if __name__ == "__main__":
    for file, text in pages(printed(model_answers())).items():
        (DOCS / file).write_text(text, encoding="utf-8")
