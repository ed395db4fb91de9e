"""The source of a program is shown once, with the helpers that it uses."""

import re

import pytest

from parity_tests.case import load
from parity_tests.report.source_text import helpers, text_of


@pytest.mark.sampled(2)
@pytest.mark.parametrize("side", ["reference", "fun"])
def test_no_definition_is_shown_twice(side):
    """Each function and class of a program is in its text once, a lambda's statement included."""
    programs = {case.id: text_of(getattr(case, side)) for case in load().values()}
    names = {id: re.findall(r"^(?:def|class) (\w+)", text, re.M) for id, text in programs.items()}

    assert len(names) > 100 and all(names.values())
    assert {id: of for id, of in names.items() if len(of) != len(set(of))} == {}


def helper(x):
    return 2 * x


def program(x, *, tool=lambda x: helper(x) + 1):
    return tool(x)


def test_a_lambda_that_is_a_default_is_not_repeated():
    """The source of a lambda is the statement around it; the functions that it calls are shown."""
    text = text_of(program)

    assert re.findall(r"^def (\w+)", text, re.MULTILINE) == ["helper", "program"]
    assert program(1) == 3


def test_a_function_with_a_rule_of_its_own_has_its_rule():
    """`none_or_zero/rule_returns_none` uses a `custom_vjp`; its decorator and rule are shown."""
    text = text_of(load()["none_or_zero/rule_returns_none"].fun)
    assert text.startswith("@jax.custom_vjp\ndef _scale(x, w):")
    assert 0 < text.find("_scale.defvjp(") < text.find("def rule_returns_none(")


@pytest.mark.slow
def test_helpers_are_taken_from_every_file_of_the_package():
    """A program's helpers include those that its helpers call, and not the program itself."""
    case = load()["grad_modes/detach"]

    assert set(helpers(case.reference)) == {"Net", "grads", "linear", "mse", "nested"}
    assert set(helpers(case.fun)) == {"linear", "mse", "requires_grad_of"}
    assert helpers(program) == {"helper": "def helper(x):\n    return 2 * x"}
    for one in load().values():
        for side in (one.reference, one.fun):
            assert all(name in text for name, text in helpers(side).items())
