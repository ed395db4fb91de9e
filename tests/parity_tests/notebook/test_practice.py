"""Questions are answered by results, and solutions of exercises run."""

import re

import pytest

from parity_tests.notebook.display import Folded
from parity_tests.notebook.practice import exercise, exercises, predict, question


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", exercises())
def test_the_solution_of_an_exercise_runs(name):
    """A solution passes its own checks and prints something, and its task is not folded."""
    shown = exercise(name)
    task, folded = shown._repr_html_().split("<details>")

    assert isinstance(shown, Folded) and shown.plain and "<b>Exercise.</b>" in task
    assert "assert" in re.sub("<[^>]*>", "", folded) and "assert" not in task


def test_a_question_is_answered_by_the_results_of_its_case():
    """The answer, which is folded, has the results of both frameworks and the reason."""
    shown = question("grad_modes/requires_grad_flag")
    asked, folded = shown._repr_html_().split("<details>")

    assert "18" not in asked and "derivative of" in asked
    assert folded.count("<code>18</code>") == 2
    assert "<code>a</code> is the constant 6" in folded


def test_a_question_about_one_element_of_an_array():
    """The answer is that element alone: torch's cosine is back at its start at step 50."""
    shown = question("lr_scheduler/cosine_annealing_lr")

    assert shown.plain.startswith("  lr/50: 0.1 | ")
    assert shown.plain.count("lr/") == 1


def test_a_question_about_results_of_the_notebook():
    """The answer has the results that are given, folded, and the reason."""
    shown = predict("Which?", {"forward": "pass"}, "It is.")
    asked, folded = shown._repr_html_().split("<details>")

    assert "Which?" in asked and "pass" not in asked
    assert "<code>pass</code>" in folded and "It is." in folded


def test_a_question_without_an_answer_is_an_error(monkeypatch):
    """A question whose results do not exist cannot be shown."""
    monkeypatch.setattr("parity_tests.notebook.practice.compared", lambda *_: [])

    with pytest.raises(AssertionError, match="no result of grad_modes/detach matches 'grads/l1"):
        question("grad_modes/detach")
