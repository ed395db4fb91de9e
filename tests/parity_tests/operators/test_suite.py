"""The test of an operator that another version of torch or JAX changes."""

import dataclasses

import pytest

from parity_tests.audits import version_changes
from parity_tests.audits.version_changes import Change
from parity_tests.operators import load
from parity_tests.operators._harness import suite
from parity_tests.operators._harness.grid import Outcome


ABS = load()["abs"]
CHANGE = Change("torch", "2.99", "abs", "another gradient at 0")


@pytest.fixture
def changed(monkeypatch):
    """The table says that the installed torch has another gradient of `abs`."""
    monkeypatch.setattr(suite, "applying", lambda _: {"abs": CHANGE})


def test_a_change_that_torch_does_not_have_fails(changed):
    """`abs` has torch's gradient: the message says which line is wrong, and in which file."""
    words = (
        "abs passes with torch .*listed with a difference .another gradient at 0.*torch_versions.py"
    )
    with pytest.raises(AssertionError, match=words):
        suite.agreement_test("pointwise")(ABS)


@pytest.mark.parametrize(
    "error", [AttributeError("no abs"), RuntimeError("removed"), ValueError("eps"), None]
)
def test_an_operator_that_differs_passes(changed, monkeypatch, error):
    """The test passes if a value differs, or if torch refuses the call or lacks the function."""

    def check(record):  # every call, or a rare difference is missed
        if error:
            raise error
        return Outcome(["point (0): gradient 0, expected 1"], [], 1, 1)

    monkeypatch.setattr(suite, "check", check)
    suite.agreement_test("pointwise")(ABS)


def test_an_exception_of_jax_is_not_taken_for_a_difference(changed, monkeypatch):
    """An operator that is broken in JAX does not pass as one that differs."""
    broken = Outcome(["point (0): JAX raises TypeError: no"], [], 1, 1)
    monkeypatch.setattr(suite, "check", lambda record: broken)
    with pytest.raises(AssertionError, match="abs passes with torch"):
        suite.agreement_test("pointwise")(ABS)


def test_another_error_is_not_taken_for_a_difference(changed, monkeypatch):
    monkeypatch.setattr(suite, "check", lambda record: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        suite.agreement_test("pointwise")(ABS)


def test_a_change_of_other_versions_is_ignored(monkeypatch):
    """A change that the installed torch has does not apply: the operator must agree."""
    earlier = CHANGE._replace(since="2.0")
    monkeypatch.setattr(version_changes, "changes", lambda: [earlier])
    suite.agreement_test("pointwise")(ABS)


def test_an_operator_that_this_torch_lacks_is_skipped():
    """It is not counted among those that differ."""
    with pytest.raises(pytest.skip.Exception, match="which torch 99.0 introduced"):
        suite.agreement_test("pointwise")(dataclasses.replace(ABS, since="99.0"))


@pytest.mark.filterwarnings("ignore:torch.qr is deprecated")
def test_an_operator_that_torch_removed_is_refused_by_both():
    """`torch.qr` is removed in 2.14; the test fails where one of the two still works."""
    removed = load()["qr"]
    if removed.is_removed:
        suite.both_refuse(removed)
        return
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        suite.both_refuse(removed)


def test_a_difference_with_a_newer_torch_says_what_to_write(monkeypatch):
    """With a torch that jaxgrad does not know, a failing operator asks for a line of the table."""
    broken = Outcome(["point (0): gradient 0, expected 1"], [], 1, 1)
    monkeypatch.setattr(suite, "check", lambda *_: broken)
    monkeypatch.setitem(suite.INSTALLED, "torch", "2.99.0.dev1")
    words = "torch 2.99.0.dev1 is newer than .*add its version to SUPPORTED and a Change"
    with pytest.raises(AssertionError, match=words):
        suite.agreement_test("pointwise")(ABS)

    monkeypatch.setitem(suite.INSTALLED, "torch", "2.13.0")
    assert suite.unknown_torch() == []
