"""The check of each exercise rejects the notebook's unfinished answer and accepts the solution."""

import contextlib
import io

import jax.numpy as jnp
import pytest
import torch

from parity_tests.notebook.check import UNFINISHED, holds, names_in, verdict
from parity_tests.notebook.practice import exercises, solve
from tests.parity_tests.notebook._lessons import cells


ANSWER = "# Your answer\n"


def answers():
    """Yield each exercise with the code of its answer cell and of its check cell."""
    for texts in cells().values():
        for asked, answer, checked in zip(texts, texts[1:], texts[2:], strict=False):
            if asked.startswith("exercise("):
                name = asked.removeprefix('exercise("').removesuffix('")')
                yield name, answer, checked


ANSWERS = list(answers())


def printed(code, names):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)
    return out.getvalue().strip()


def test_every_exercise_has_a_cell_for_the_answer_and_one_that_checks_it():
    """Below a task stand the unfinished answer and a call of `check` with the same name."""
    assert sorted(name for name, _, _ in ANSWERS) == sorted(exercises())
    for name, answer, checked in ANSWERS:
        assert answer.startswith(ANSWER), name
        assert checked.startswith(f'check("{name}", '), name


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "answer", "checked"), ANSWERS, ids=[name for name, *_ in ANSWERS])
def test_a_check_rejects_the_unfinished_answer_and_accepts_the_solution(name, answer, checked):
    """The answer of the notebook is wrong or lacks something; the solution is right."""
    head = "from parity_tests.notebook.check import check\n"
    unfinished = {"__name__": "notebook"}
    printed(answer, unfinished)

    assert printed(head + checked, unfinished).startswith("Not yet: ")
    assert printed(head + checked, dict(solve(name).names)).startswith("Right: ")


def test_a_missing_answer_is_named():
    """A `...` that is left, at any place, gives the same advice."""

    def rule(answer):
        yield "the list", answer, torch.ones(2)

    def called(answer):
        yield "the result", answer(1), torch.ones(2)

    assert verdict(rule, [...]) == UNFINISHED
    assert verdict(rule, [[1.0, ...]]) == UNFINISHED
    assert verdict(called, [...]) == UNFINISHED
    assert verdict(called, [lambda _: ...]) == UNFINISHED


def test_a_verdict_says_what_differs_from_torch():
    """The first difference is named with both values; None, zero and a missing entry differ."""

    def rule(answer):
        yield "the gradient", answer, {"a": torch.ones(2), "b": None}

    right = {"a": jnp.ones(2), "b": None}
    assert verdict(rule, [right]) == "Right: the gradient is {a: [1, 1], b: None}."
    for wrong in (right | {"b": jnp.zeros(())}, right | {"a": jnp.ones(3)}, {"a": jnp.ones(2)}):
        assert verdict(rule, [wrong]).startswith("Not yet: the gradient is {a: [1, 1")
        assert verdict(rule, [wrong]).endswith("; it should be {a: [1, 1], b: None}.")


def test_rounding_is_no_difference_and_nan_is_itself():
    """A float32 result is right; a NaN is right only where torch has one."""

    def rule(answer):
        yield "it", answer, torch.tensor([1 / 3, float("nan")])

    assert verdict(rule, [jnp.array([1 / 3, jnp.nan])]).startswith("Right")
    assert verdict(rule, [jnp.array([0.334, jnp.nan])]).startswith("Not yet")
    assert verdict(rule, [jnp.array([1 / 3, 0.0])]).startswith("Not yet")


def test_an_exception_and_a_false_statement_are_explained():
    """The type and the first line of an exception are shown; a statement must hold."""

    def rule(answer):
        yield "`port` passes", holds(answer(), "the proof fails"), True

    def fails():
        raise ValueError("no such axis\nmore")

    assert verdict(rule, [fails]) == "Not yet: your code raises ValueError: no such axis"
    assert verdict(rule, [lambda: False]) == "Not yet: the proof fails."
    assert verdict(rule, [lambda: True]) == "Right: `port` passes."


def test_a_hint_follows_the_values():
    """A hint is shown only where the values differ."""

    def rule(answer):
        yield "the gradient", answer, 2, "Add both uses"

    assert verdict(rule, [1]) == "Not yet: the gradient is 1; it should be 2. Add both uses."
    assert verdict(rule, [2]) == "Right: the gradient is 2."


def test_a_right_answer_lists_only_some_of_the_facts():
    """With many facts the sentence has the first four and the number of the others."""

    def rule(*answers):
        for number, answer in enumerate(answers):
            yield f"fact {number}", answer, number

    assert verdict(rule, range(5)).endswith("fact 3 is 3, fact 4 is 4.")
    assert verdict(rule, range(6)).endswith("fact 3 is 3, and 2 more.")


def test_the_names_that_a_function_reads():
    """Globals and attributes are listed, those of inner functions too, but no local names."""

    def fun(x):
        kept = [x]
        return lambda: jnp.linalg.norm(kept[0])

    assert names_in(fun) == {"jnp", "linalg", "norm"}
    assert names_in(3) == set()
