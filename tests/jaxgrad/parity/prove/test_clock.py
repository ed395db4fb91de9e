"""A proof knows how long its steps took, and when to end."""

from typing import Any

import pytest

from jaxgrad.parity.prove import clock as clocks
from jaxgrad.parity.prove.clock import SEARCH, Clock, TimeLimit
from jaxgrad.parity.prove.users import ProofError


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def hands(monkeypatch: Any) -> Hands:
    monkeypatch.setattr(clocks, "LEAST", 5.0)
    return Hands()


def test_the_seconds_of_a_step_are_added(hands):
    """A step that runs twice or raises is timed, and its name is passed to `progress=`."""
    names: list[str] = []
    clock = Clock(names.append, now=hands)
    with clock("torch"):
        hands.time += 2.0
    hands.time += 7.0  # between the steps
    with pytest.raises(ValueError, match="x"), clock("torch"):  # noqa: PT012  # time passes
        hands.time += 0.5
        raise ValueError("x")
    assert clock.seconds == {"torch": 2.5} and names == ["torch", "torch"]


def test_the_seconds_of_an_inner_step_are_not_counted_twice(hands):
    """The sum of all steps is the time that passed."""
    clock = Clock(now=hands)
    with clock("updates"):
        hands.time += 1.0
        with clock("locate"):
            hands.time += 4.0
        hands.time += 0.25
    assert clock.seconds == {"updates": 1.25, "locate": 4.0}


def test_a_step_after_the_time_limit_does_not_begin(hands):
    """The limit counts from the start of the proof, and `except Exception` does not catch it."""
    clock = Clock(limit=3.0, now=hands)
    hands.time = 3.0
    with clock("torch"):
        hands.time = 3.5
    with pytest.raises(TimeLimit), clock("trace"):
        pytest.fail("the step began")
    assert not issubclass(TimeLimit, Exception)
    assert "trace" not in clock.seconds
    clock.limit = None
    with clock("trace"):
        pass


def test_a_search_ends_at_the_time_limit_and_keeps_what_it_found(hands):
    """A step inside the search does not raise, and the next mistake is not tried."""
    clock = Clock(limit=3.0, now=hands, computed=Hands())
    with clock(SEARCH):
        assert clock.may_search()
        hands.time = 3.5
        with clock("torch"):
            pass
        assert not clock.may_search()
    assert clock.notes()
    with pytest.raises(TimeLimit), clock("torch"):
        pytest.fail("the step began")


@pytest.mark.parametrize(("before", "allowed"), [(2.0, 5.0), (40.0, 40.0)])
def test_searches_may_compute_as_long_as_the_rest_of_the_proof(hands, before, allowed):
    """All searches share one budget, of a few seconds at least; a busy machine does not end it."""
    computed = Hands()
    clock = Clock(now=hands, computed=computed)
    with clock("torch"):
        computed.time += before
    with clock("locate"):
        hands.time += 1000.0
        computed.time += allowed / 2
        assert clock.may_search()
    with clock("locate"):
        with clock("torch"):  # a run of the search counts as searching
            computed.time += allowed / 2
        assert clock.may_search() and clock.notes() == ()
        computed.time += 1.0
        assert not clock.may_search()
    (note,) = clock.notes()
    assert note == (
        f"the search for causes ended after {allowed + 1:.0f} s of CPU time, before it had tried "
        "every cause; time_limit=120 lets it search for a minute"
    )


def test_a_time_limit_lets_searches_take_half_of_it(hands):
    """Who allows the proof 100 seconds also waits for its causes."""
    computed = Hands()
    clock = Clock(limit=100.0, now=hands, computed=computed)
    with clock("locate"):
        computed.time += 50.0
        assert clock.may_search()
        computed.time += 1.0
        assert not clock.may_search()


def test_the_note_does_not_suggest_a_limit_that_the_proof_has(hands):
    """A user who passed 120 seconds is told to pass more."""
    clock = Clock(limit=120.0, now=hands, computed=Hands())
    with clock("locate"):
        hands.time += 121.0
        assert not clock.may_search()
    clock.limit = None  # as `prove` does to report what is known
    (note,) = clock.notes()
    assert note.endswith("every cause; a time_limit= of more than 120 gives it more time")


def test_a_search_does_not_begin_a_step_for_which_it_has_no_time_left(hands):
    """A compilation whose length is known begins only if the search can end it in time."""
    computed = Hands()
    clock = Clock(now=hands, computed=computed)
    with clock("locate"):
        computed.time += 3.0
        assert clock.searched() == 3.0
        assert clock.may_search("a compilation", 2.0) and clock.notes() == ()
        assert not clock.may_search("a compilation", 2.5)
    (note,) = clock.notes()
    assert note.startswith("the search for causes ended after 3 s of CPU time")


def test_a_search_reports_what_it_tries(hands):
    """The user sees that a long search goes on."""
    names: list[str] = []
    clock = Clock(names.append, now=hands)
    with clock("locate"):
        clock.may_search("eps is 1e-06")
        clock.may_search()
    assert names == ["locate", "locate: eps is 1e-06"]


def test_a_progress_that_raises_is_an_error(hands):
    """The error names the argument."""

    def broken(name: str) -> None:
        raise OSError(name)

    with pytest.raises(ProofError, match="progress= raised OSError"), Clock(broken)("torch"):
        pass
