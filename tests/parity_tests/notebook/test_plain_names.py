"""The lines that a lesson shows have no private names and no vocabulary of the tests."""

import ast

import pytest

from parity_tests.case import load
from parity_tests.notebook.plain_names import NameClash, plain_names
from parity_tests.notebook.script import scripts
from tests._helpers import sampled
from tests.parity_tests.notebook._lessons import lessons


TESTS = {"identity", "observe", "raised", "requires_grad_of", "uses"}  # words of the tests
# Words of the tests that are lines of a lesson, with the reason.
ALLOWED = {
    "freezing/multi_headed": "one of two runs stops nothing, and the identity says so",
    "grad_modes/eval_mode": "JAX has no flag `requires_grad`: a helper computes it",
    "grad_modes/requires_grad_flag": "JAX has no flag `requires_grad`: a helper computes it",
    "grad_modes/recorded": "six ways to stop a gradient are run by one function",
    "optim/every_other_step": "one of two runs silences nothing, and the identity says so",
}


def names(code):
    """Return the names that a program reads or binds, and its attributes."""
    nodes = list(ast.walk(ast.parse(code)))
    read = {node.id for node in nodes if isinstance(node, ast.Name)}
    return read | {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


LESSONS = sampled(lessons(), 8)


@pytest.mark.parametrize(("id", "prints"), [each[1:] for each in LESSONS])
def test_a_lesson_shows_no_private_name(id, prints):
    """No shown line has a name with a leading underscore, or a word of the tests."""
    for half in scripts(load()[id], prints):
        shown = names(half.core.text)
        assert not {name for name in shown if name.startswith("_") and name.strip("_")}
        assert not shown & TESTS or id in ALLOWED


def test_every_exception_is_needed():
    """Each case that is allowed to show a word of the tests shows one."""
    for id, reason in ALLOWED.items():
        assert set().union(*(names(half.core.text) for half in scripts(load()[id]))) & TESTS
        assert len(reason.split()) > 4


def test_a_helper_loses_its_underscore_everywhere():
    """The definition and the calls of a helper change; attributes and other words do not."""
    core, helpers = plain_names("x = _total(h._total)", "def _total(_):\n    return _total_of(1)")

    assert core == "x = total(h._total)"
    assert helpers == "def total(_):\n    return total_of(1)"


def test_a_name_that_is_taken_is_an_error():
    """If the script has both names, the error says which to rename."""
    with pytest.raises(NameClash, match="'total' exists beside the helper '_total'; rename one"):
        plain_names("total = _total(1)", "def _total(x):\n    return x")
