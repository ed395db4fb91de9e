"""The notes for teachers have every question and exercise, and are those of the notebooks."""

import ast
import importlib.util
import json
import re

import numpy as np
import pytest

from parity_tests.notebook.assessment_questions import EXAMS, VARIANT
from parity_tests.notebook.plain_session import printed
from parity_tests.notebook.practice import exercises
from parity_tests.notebook.questions import QUESTIONS as ASKED
from parity_tests.notebook.right_answers import ANSWERS
from parity_tests.notebook.sessions import COURSE, LESSONS
from parity_tests.notebook.teachers import (
    DOCS,
    SECOND_TEST,
    contents,
    model_answers,
    notebooks,
    pages,
    practice,
    session_file,
    spaced,
)
from parity_tests.notebook.wrong_answers import EXERCISES, QUESTIONS
from tests._helpers import has_page_release


SHOWN = [entry for path in notebooks() for entry in practice(json.loads(path.read_text("utf-8")))]
FILES = {path.name: path.read_text("utf-8") for path in sorted(DOCS.glob("teachers*.md"))}
PAGE = "".join(FILES.values())
WITH_OUTPUT = re.compile(r"```python\n(.*?)\n```\n\nIt prints:\n\n```text\n(.*?)\n```", re.DOTALL)
OUTPUTS = dict(WITH_OUTPUT.findall(PAGE))
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?")


def test_the_pages_are_current():
    """The committed pages are what `make pages` writes, given what the model answers print."""
    outputs = {name: OUTPUTS.get(code, "") for name, code in model_answers().items()}

    assert pages(outputs) == FILES, "run `make pages`"


@pytest.mark.slow  # it runs all model answers; the tests of `plain_session` are quick
def test_a_model_answer_prints_in_a_plain_session_what_the_page_says():
    """Dtypes and sizes are those of a session in float32, and numbers agree up to its rounding."""
    answers = model_answers()

    for name, text in printed(answers).items():
        shown = OUTPUTS[answers[name]]
        assert NUMBER.sub("#", text.rstrip()) == NUMBER.sub("#", shown), name
        if has_page_release():  # another release may keep another number of bytes
            numbers = [[float(n) for n in NUMBER.findall(side)] for side in (text, shown)]
            np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-7, err_msg=name)


def test_the_notes_for_a_large_class_hold():
    """The commands fit each other and the course, and the counts are those of the first test."""
    text = FILES["teachers_large_class.md"]
    words = " ".join(text.split())
    (folder,) = set(re.findall(r"(?:--wheel-dir|--find-links) (\S+)", text))
    (first,) = re.findall(r"^pip install (torch --index-url \S+)$", COURSE.read_text("utf-8"), re.M)
    assert f"pip wheel {first} --wheel-dir {folder}\n" in text
    (rest,) = re.findall(r"^pip install (\S+) jupyterlab$", COURSE.read_text("utf-8"), re.M)
    assert f"pip wheel {rest} jupyterlab --find-links" in text
    extra = rest.strip('".')
    assert f'--no-index --find-links {folder} "jaxgrad{extra}" jupyterlab' in text

    (built,) = re.findall(r"notebooks/build.py --without-solutions ([\w ]+)`", words)
    assert built.split() == [one.notebook for one in LESSONS if one.session]

    count, students, answers = map(
        int, re.findall(r"has (\d+) questions, so (\d+) students give you (\d+) answers", words)[0]
    )
    (hours,) = re.findall(r"half a minute each, as a guess, makes (\d+) hours", words)
    (numbers,) = re.findall(r"questions ([\d, and]+) ask for a line or a program", words)
    questions = [question for part in EXAMS[0].parts for question in part.questions]
    assert count == len(questions) and answers == count * students == int(hours) * 120
    asked = {int(n) for n in re.findall(r"\d+", numbers)}
    assert asked == {n for n, question in enumerate(questions, 1) if question.line}
    assert f"visit {students // 2} pairs" in words

    (change,) = re.findall(r"such as `(\(.*?\))`\. Then", words)
    assert ast.literal_eval(change) in VARIANT[questions[0].program].changes
    for module in re.findall(r"^python -m (\S+)$", text, re.M):
        assert importlib.util.find_spec(module) is not None


def test_every_question_and_exercise_has_a_wrong_answer():
    """Each question and exercise of a notebook has a wrong answer, and no entry is left over."""
    asked = {name for name, kind, *_ in SHOWN if kind == "Predict"}
    tasks = {name for name, kind, *_ in SHOWN if kind == "Exercise"}

    assert set(ASKED) <= asked and tasks == set(exercises())
    missing = {*(asked - set(QUESTIONS)), *(tasks - set(EXERCISES))}
    assert not missing, f"add to parity_tests/notebook/wrong_answers.py: {sorted(missing)}"
    assert set(ANSWERS) == set(QUESTIONS) == asked and set(EXERCISES) == tasks


@pytest.mark.parametrize(
    "entry", [e for e in SHOWN if e[1] == "Predict"], ids=lambda entry: entry[0]
)
def test_an_answer_begins_with_a_sentence_that_agrees_with_the_results(entry):
    """The first sentence has a `None` exactly if a result is, and no number of its own."""
    name, _, text, rest = entry
    *rows, _ = rest
    right, results = ANSWERS[name], " ".join(row.partition(": ")[2] for row in rows)

    assert right.endswith(".") and f"- **Answer.** {right} " in PAGE
    assert ("`None`" in right) == ("None" in results)
    numbers = {n.rstrip(".") for n in NUMBER.findall(right)}
    assert numbers <= {n.rstrip(".") for n in NUMBER.findall(f"{results} {text}")}, numbers
    for word, opposite in (("Yes", "False"), ("No:", "True")):
        assert not right.startswith(word) or opposite not in results


@pytest.mark.parametrize("entry", SHOWN, ids=lambda entry: entry[0])
def test_a_wrong_answer_is_wrong(entry):
    """A wrong answer is not the computed one, and its explanation is a sentence."""
    name, kind, _, rest = entry
    answer = (QUESTIONS if kind == "Predict" else EXERCISES)[name]
    torch = [row.partition(": ")[2].partition(" | ")[0].strip("[] ") for row in rest[:-1]]

    assert answer.says not in torch
    assert answer.thinks.endswith((".", "?")) and answer.thinks != answer.says


def test_a_model_answer_is_the_one_that_the_suite_runs():
    """The page shows the solution's code, and below it what a plain session prints."""
    code = model_answers()["optim/momentum_by_hand"]
    outputs = dict.fromkeys(exercises(), "")

    assert "    momentum = 0.9 * momentum + jax.grad(lambda w: w**2)(param)\n" in code
    text = pages({**outputs, "optim/momentum_by_hand": "0.1 0.2\n"})["teachers_notebooks.md"]
    assert f"```python\n{code}\n```\n\nIt prints:\n\n```text\n0.1 0.2\n```\n" in text


def test_the_first_page_is_short_and_leads_to_the_others():
    """It links to a page for each session, and to those for the further notebooks."""
    first = FILES["teachers.md"]
    linked = re.findall(r"^- \[.+\]\((teachers_\w+\.md)\)$", first, re.MULTILINE)

    assert set(linked) == set(FILES) - {"teachers.md"}
    assert len(first.splitlines()) <= 50 and "**Exercise.**" not in first


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_session_has_a_page_that_begins_with_what_to_prepare(number):
    """Its parts are in the order of the session, with the notebook that the session runs."""
    text = FILES[session_file(number)]
    titles = re.findall(r"^## \[?(.+?)(?:\]\(.*)?$", text, re.MULTILINE)

    assert titles[0] == f"Prepare session {number}" and titles[-1] == "Discuss"
    assert (titles[1] == "Predict, on the stepper") == (number < 3)
    lesson = next(one for one in LESSONS if one.session == number)
    assert f"](../notebooks/{lesson.notebook}.ipynb)\n\n**" in text


def test_every_notebook_is_on_one_page():
    """The second test's notebooks are those of the course, and each notebook has one section."""
    sections = re.findall(r"^## \[.+\]\(\.\./notebooks/(\w+)\.ipynb\)$", PAGE, re.MULTILINE)
    row = re.search(r"^\| the second test \| (.+) \|$", COURSE.read_text("utf-8"), re.MULTILINE)

    assert sorted(sections) == sorted(path.stem for path in notebooks())
    assert row and re.findall(r"/(\w+)\.ipynb", row[1]) == list(SECOND_TEST)


def test_a_page_of_notebooks_begins_with_a_list_of_its_sections():
    """Each section has a link to its anchor, above the first section."""
    for name in ("teachers_second_test.md", "teachers_notebooks.md"):
        head, _, rest = FILES[name].partition("\n## ")
        assert head.count("\n- [") == rest.count("\n## ") + 1
    head = FILES["teachers_second_test.md"].partition("\n## ")[0]
    assert "(#hooks-observing-and-changing-a-gradient-during-the-backward-pass)\n" in head
    assert contents("## [A `b`, c](d.ipynb)\n### e\n## F-g\n") == (
        "- [A `b`, c](#a-b-c)\n- [F-g](#f-g)\n"
    )


def test_functions_have_two_blank_lines_around_them():
    """Code of the page is spaced as `make lint` requires it of markdown."""
    code = "x = 1\n\ndef f():\n    return 1\n\nprint(f())\n\ny = 2"

    assert spaced(code) == "x = 1\n\n\ndef f():\n    return 1\n\n\nprint(f())\n\ny = 2"
    assert spaced(spaced(code)) == spaced(code)


def test_a_zero_has_no_sign_and_a_dash_is_explained():
    """The sign of a zero says nothing here, and the page says what a dash and a path stand for."""
    head = " ".join(FILES["teachers.md"].split())

    assert "`[0, 0, 0]`" in PAGE and not re.search(r"^- \*\*Computed.*[\[ `]-0[\], `]", PAGE, re.M)
    assert "torch –, JAX `12`" in PAGE and "A dash (–) means" in head
    assert "`grads/l1/bias`: `None`" in PAGE and "`grads/l1/bias` is the gradient of" in head
    assert "save it as a file" in head
