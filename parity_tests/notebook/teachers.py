"""Write docs/teachers.md: for each notebook its questions and exercises, with what a class answers.

The questions and their answers are read from the committed notebooks, so the page shows what a
student sees. The model answers run in a plain session. `make pages` writes the page.
"""

import importlib
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from parity_tests.notebook import course
from parity_tests.notebook.plain_session import printed
from parity_tests.notebook.practice import SOLUTIONS, exercises, solution
from parity_tests.notebook.right_answers import ANSWERS
from parity_tests.notebook.wrong_answers import EXERCISES, QUESTIONS, WrongAnswer
from parity_tests.report.slug import slug
from parity_tests.runner.settings import ROOT


PATH = ROOT / "docs" / "teachers.md"
HEAD = """\
<!-- written by `make pages` -->
# Notes for teachers

*The question: which wrong answers will come, what is behind them, and what is a right one?*

First the [course](course.md), then each notebook: the questions that a student answers before the
result is shown, and the exercises. The answers are those of the stepper and of the executed
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
further notebooks; its [key](assessment_key.md) has the answers and the marking. Each page says
which offline file to print. This page prints with its model answers from the site of `make docs`.
"""
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


def page(outputs: Mapping[str, str]) -> str:
    """Return the text of the page.

    Args:
        outputs: What each model answer prints.
    """
    lessons = [part for path in notebooks() for part in _notebook(path, outputs)]
    text = "\n".join([course.section(), *lessons])
    return "\n".join([HEAD, contents(text), text])


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
    PATH.write_text(page(printed(model_answers())), encoding="utf-8")
