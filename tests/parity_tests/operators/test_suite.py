"""The test of an operator that a newer torch changed."""

import pytest

from parity_tests.audits.newer_torch import Change
from parity_tests.operators import load
from parity_tests.operators._harness import suite
from parity_tests.operators._harness.grid import Outcome


ABS = load()["abs"]
CHANGE = Change("2.15", "abs", "another gradient at 0")


@pytest.fixture
def newer(monkeypatch):
    """The table says that torch 2.13 and later have another gradient of `abs`."""
    monkeypatch.setattr(suite, "changes", lambda: {"abs": CHANGE._replace(since="2.13")})


def test_a_change_that_torch_does_not_have_fails(newer):
    """`abs` has torch's gradient: the message says which line is wrong, and in which file."""
    words = "torch has no longer another gradient at 0: delete its line in .*newer_torch.tsv"
    with pytest.raises(AssertionError, match=words):
        suite.agreement_test("pointwise")(ABS)


@pytest.mark.parametrize("error", [AttributeError("no abs"), RuntimeError("removed"), None])
def test_an_operator_that_differs_passes(newer, monkeypatch, error):
    """It passes if a value differs, and if torch has no such function any more."""

    def check(record, every):
        if error:
            raise error
        return Outcome(["point (0): gradient 0, expected 1"], [], 1, 1)

    monkeypatch.setattr(suite, "check", check)
    suite.agreement_test("pointwise")(ABS)


def test_another_error_is_not_taken_for_a_difference(newer, monkeypatch):
    monkeypatch.setattr(suite, "check", lambda record, every: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        suite.agreement_test("pointwise")(ABS)


def test_with_an_older_torch_nothing_changes(monkeypatch):
    """The table is for a newer torch: the operator must agree."""
    monkeypatch.setattr(suite, "changes", lambda: {"abs": CHANGE._replace(since="99.0")})
    suite.agreement_test("pointwise")(ABS)
