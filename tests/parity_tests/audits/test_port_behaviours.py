"""A port without the line of a gradient behaviour is not proved."""

import dataclasses

import pytest

from parity_tests.audits import port_behaviours
from parity_tests.audits.port_behaviours import BEHAVIOURS
from tests._helpers import ALL


NAMES = list(BEHAVIOURS)
if not ALL:  # `make test-all` and `make port-kill-table` run every one
    NAMES = ["no_grad", "frozen", "tied_weights"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_a_behaviour_is_proved_and_missed(name):
    """The proof passes with the behaviour and finds a difference without it."""
    verdict = port_behaviours.judge(name)

    assert verdict.right, verdict.proved or verdict.without


def test_there_are_enough_behaviours():
    """The collection has at least 20 behaviours."""
    assert len(BEHAVIOURS) >= 20


def test_a_piece_that_the_port_lacks_is_an_error(monkeypatch):
    """Deleting what is not there would prove nothing."""
    wrong = dataclasses.replace(BEHAVIOURS["detach"], piece="no such piece")
    monkeypatch.setitem(BEHAVIOURS, "detach", wrong)

    with pytest.raises(ValueError, match="is not in the port"):
        port_behaviours.judge("detach")


def test_a_harmless_change_is_not_right(monkeypatch):
    """If the proof passes without the piece, the verdict is not right."""
    same = dataclasses.replace(BEHAVIOURS["detach"], piece="h = ", instead="h = ")
    monkeypatch.setitem(BEHAVIOURS, "detach", same)

    assert not port_behaviours.judge("detach").right
