"""The assessment and its key are what their programs print in a plain session."""

import pytest

from parity_tests.notebook.assessment import (
    KEY,
    PATH,
    TOTAL,
    in_sessions,
    is_mistake,
    key,
    listed,
    name,
    numbered,
    page,
    programs,
    shown,
)
from parity_tests.notebook.assessment_questions import BLANK, PARTS, Question
from parity_tests.notebook.plain_session import printed


QUESTIONS = [question for _, _, question in numbered()]
WITH_LINE = [question for question in QUESTIONS if question.line]


@pytest.fixture(scope="module")
def outputs():
    """Return what every program prints in a plain session, in float32."""
    return printed(programs())


def test_the_pages_are_current(outputs):
    """The committed assessment and key are what `make pages` writes."""
    assert page(outputs) == PATH.read_text(encoding="utf-8"), "run `make pages`"
    assert key(outputs) == KEY.read_text(encoding="utf-8"), "run `make pages`"


@pytest.mark.parametrize("question", WITH_LINE, ids=name)
def test_the_right_line_gives_the_numbers_of_torch(outputs, question):
    """With the corrected line, a program prints the same numbers for both frameworks."""
    torch, jax = outputs[name(question)].splitlines()

    assert torch.removeprefix("torch: ") == jax.removeprefix("JAX: ") != jax


@pytest.mark.parametrize("question", [q for q in QUESTIONS if is_mistake(q)], ids=name)
def test_a_mistake_changes_the_numbers_of_jax(outputs, question):
    """The wrong program prints the same numbers for torch and other ones for JAX."""
    torch, jax = outputs[name(question)].splitlines()
    torch_again, wrong = outputs[f"{name(question)}, wrong"].splitlines()

    assert torch_again == torch and wrong != jax


@pytest.mark.parametrize("question", QUESTIONS, ids=name)
def test_a_wrong_answer_is_not_the_answer(outputs, question):
    """An answer to expect is neither the output nor the right line, and has an explanation."""
    assert question.expect not in outputs[name(question)]
    assert not question.line or question.line not in question.expect
    assert question.thinks.endswith((".", "?")) and question.because.endswith((".", "`."))


def test_the_answers_are_not_in_the_assessment():
    """A student sees neither a right line nor the output of a program to predict."""
    text = PATH.read_text(encoding="utf-8")

    assert not [question.line for question in WITH_LINE if question.line in text]
    before, *_ = text.partition("## Part B")
    assert "```text" not in before


def test_the_points_and_the_kinds():
    """Twelve questions of three kinds make 50 points."""
    assert TOTAL == 50 and len(QUESTIONS) == 12
    assert [
        {"predict" if not q.line else "find" if is_mistake(q) else "write" for q in part.questions}
        for part in PARTS
    ] == [{"predict"}, {"find"}, {"write"}]


def test_the_questions_of_the_three_sessions():
    """The sessions teach five questions with 19 points, and both pages name them."""
    assert in_sessions() == ([1, 2, 3, 8, 12], 19)
    assert listed([1, 2, 3]) == "1, 2 and 3"
    assert "questions 1, 2, 3, 8 and 12 (19 points)" in PATH.read_text(encoding="utf-8")
    assert "9.5 for those that the three sessions teach" in KEY.read_text(encoding="utf-8")


def test_a_second_input_refutes_a_larger_learning_rate():
    """A larger rate gives torch's number in question 7, but not for another weight."""
    question = next(q for q in QUESTIONS if q.expect == "a larger learning rate")
    larger = shown(question).replace(question.wrong, "tx = optax.adamw(0.10099)")
    second = larger.replace("torch.tensor(1.0))", "torch.tensor(2.0))", 1)
    second = second.replace("param = jnp.array(1.0)", "param = jnp.array(2.0)")
    right = second.replace("optax.adamw(0.10099)", "optax.adamw(0.1, weight_decay=0.01)")

    outputs = printed({"first": larger, "second": second, "right": right})
    assert outputs["first"] == "torch: 0.899\nJAX: 0.899\n"
    assert outputs["second"] == "torch: 1.898\nJAX: 1.89899\n"
    assert outputs["right"] == "torch: 1.898\nJAX: 1.898\n"


def test_the_line_to_find_occurs_once():
    """A line that is not in the program, or is there twice, is an error."""
    question = WITH_LINE[0]
    other = Question(question.program, "", "", "", "", "no such line")

    assert shown(question).count(question.wrong) == 1
    assert f"total = {BLANK}  # your line\n" in shown(WITH_LINE[-1])
    with pytest.raises(AssertionError, match="'no such line' is not one line"):
        shown(other)
