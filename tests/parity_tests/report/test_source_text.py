"""The source of a program is shown once, with the helpers that it uses."""

import re

import pytest

from parity_tests.case import load
from parity_tests.report.source_text import text_of


@pytest.mark.parametrize("side", ["reference", "fun"])
def test_no_definition_is_shown_twice(side):
    """Each function and class of a program is in its text once, a lambda's statement included."""
    programs = {case.id: text_of(getattr(case, side)) for case in load().values()}
    names = {id: re.findall(r"^(?:def|class) (\w+)", text, re.M) for id, text in programs.items()}

    assert len(names) > 100 and all(names.values())
    assert {id: of for id, of in names.items() if len(of) != len(set(of))} == {}


def test_the_helpers_of_a_default_are_shown():
    """A function that only a default argument names is part of the text."""
    text = text_of(load()["hooks/register_hook_sum"].fun)

    assert "def with_weight(" in text and text.count("uses=lambda hooked") == 1
