"""One rule decides whether a change that was tried is the confirmed cause of a difference."""

import math
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.causes import acceptance
from jaxgrad.parity.prove.causes.acceptance import Compared, Range, confirms, settled
from jaxgrad.parity.prove.judge import judge


def row(name: str = "w", verdict: str = "fail", off: float = 1e-3, **values: float) -> Compared:
    low, high = values.get("low", -1.0), values.get("high", 2.0)
    return Compared(name, verdict, off, low, high, size=int(values.get("size", 8)))


WRONG = row()
RIGHT = row("w", "pass", 1e-15)


def test_a_change_that_removes_the_difference_is_confirmed():
    """Everything agrees with the change, and something differs without it."""
    assert confirms([WRONG], [RIGHT])
    assert confirms([WRONG, row("v", "pass", 0.0)], [RIGHT, row("v", "pass", 1e-15)])


@pytest.mark.parametrize(
    ("without", "changed"),
    [
        ([], []),
        ([RIGHT], [RIGHT]),  # there is nothing to explain
        ([WRONG], [WRONG]),
        ([WRONG], [row("v", "pass", 0.0)]),
        ([WRONG], []),  # a step that was not run again
        ([WRONG, row("v")], [RIGHT, row("v", "fail", 1e-9)]),
        ([WRONG, row("v", "pass", 0.0)], [RIGHT, row("v", "fail", 1e-9)]),
        ([WRONG], [row("w", "inconclusive", 1e-15)]),
        ([WRONG, row("v", "pass", 0.0)], [RIGHT, row("v", "inconclusive", 1e-15)]),
        ([WRONG], [row("w", "zero", 0.0)]),
    ],
)
def test_a_change_that_leaves_or_makes_a_difference_is_not_confirmed(without, changed):
    """Each value that was compared without the change must agree with it."""
    assert not confirms(without, changed)


@pytest.mark.parametrize(("rest", "confirmed"), [(1e-13, True), (1.1e-13, False)])
def test_what_remains_must_be_much_less(rest, confirmed):
    """The difference without the change must be at least ten times the one that remains."""
    without = [row(off=1e-12), row("v", "pass", 5e-13)]
    changed = [row("w", "pass", 0.0), row("v", "pass", rest)]
    assert confirms(without, changed) == confirmed
    assert confirms(without, [changed[0], row("v", "zero", 1.0)]), "zeros have no relative size"


@pytest.mark.parametrize(
    "values",
    [
        {"off": math.inf},
        {"off": math.nan},
        {"low": math.nan, "high": math.nan},
        {"low": -math.inf, "high": 1.0},
        {"low": 1.3, "high": 1.3},
    ],
)
def test_values_that_any_change_could_give_confirm_nothing(values):
    """With the change, infinity, NaN and a constant agree by coincidence."""
    right = row("w", "pass", **{"off": 1e-15, **values})
    assert not confirms([WRONG], [right])
    assert confirms([WRONG._replace(difference=math.inf)], [RIGHT]), "the difference may be inf"


@pytest.mark.parametrize(
    ("loss", "telling"), [(0.3, True), (-7.1, True), (0.25, False), (2, False)]
)
def test_a_single_number_confirms_a_change_unless_it_is_a_simple_one(loss, telling):
    """A loss of 0 or 1/2 is given by many changes."""
    right = row("w", "pass", 1e-15, low=loss, high=loss, size=1)
    assert confirms([WRONG], [right]) == telling


def test_a_number_that_differs_from_step_to_step_is_not_constant():
    """The range is taken over all values that differ."""
    one, two = (row(f"w after step {k}", low=float(k), high=float(k)) for k in (1, 2))
    right = [x._replace(verdict="pass", difference=0.0) for x in (one, two)]
    assert confirms([one, two], right)


def test_an_accepted_difference_confirms_nothing_and_hinders_nothing():
    """A difference that the user accepts may remain, and confirms no cause."""
    waived = row("v", "accepted", 0.5)
    assert confirms([WRONG, waived], [RIGHT, waived])
    assert not confirms([waived], [waived])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([3.0, -1.0]), (-1.0, 3.0, 2)),
        (np.float64(2.0), (2.0, 2.0, 1)),
        (np.array([1 + 5j]), (1.0, 5.0, 2)),
        (np.array([1.0, math.inf]), None),
        (np.array([1.0, math.nan]), None),
        (np.zeros(0), None),
    ],
)
def test_the_range_of_values(values, expected):
    """A value that is not finite has no range."""
    found = acceptance.range_of(values)
    assert found == expected if expected else all(map(math.isnan, found[:2]))


def test_a_comparison_is_relative_to_the_scale():
    """The verdict and the relative difference are copied from the judged leaf."""
    judged = judge("w", np.array([2.0, 4.0]), np.array([2.0, 5.0]))
    assert acceptance.compared(judged, Range(1.0, 2.0, 5), 3, 1) == (
        "w", "fail", 0.25, 1.0, 2.0, 3, 5, 1
    )  # fmt: skip


def test_the_values_of_each_draw_are_compared_with_those_of_the_same_draw():
    """A leaf that differs on the second draw alone is not explained by the first draw."""
    wrong = Compared("w", "fail", 0.5, 1.0, 2.0, draw=1)
    right = Compared("w", "pass", 0.0, 1.0, 2.0, draw=0)
    fixed = wrong._replace(verdict="pass", difference=0.0)
    assert acceptance.confirms([right, wrong], [right, fixed])
    assert acceptance.refusal([right, wrong], [right]) == "not the same values were compared"
    assert acceptance.refusal([right, wrong], [right, wrong]) == (
        "values differ with the change too"
    )


def test_a_search_that_the_time_ended_confirms_nothing():
    """A single explanation says why it is not confirmed; two are never confirmed."""
    ended = "not confirmed, because the time ended before all other changes were tried"
    assert settled(["a"], "tried {}", every=False) == (f"a (tried this change; {ended})", False)
    assert settled(["a", "b"], "tried {}", every=False) == settled(["a", "b"], "tried {}")


@pytest.mark.parametrize(
    ("texts", "cause", "confirmed"),
    [
        ([], "", False),
        (["a"], "a (tried this change)", True),
        (["a", "a"], "a (tried this change)", True),
        (["a", "b"], "either a, or b (tried either of these changes)", False),
        (["a", "b", "c"], "either a, or b, or c (tried any of these changes)", False),
        (list("abcd"), "either a, or b, or c, or 1 more (tried any of these changes)", False),
        (
            list("abcde"),
            "either a, or b, or c, or one of 2 more (tried any of these changes)",
            False,
        ),
    ],
)
def test_two_changes_that_explain_the_same_are_not_confirmed(texts: Any, cause, confirmed):
    """Both changes are printed; the same change found twice counts as one."""
    assert settled(texts, "tried {}") == (cause, confirmed)


@pytest.mark.parametrize(
    ("without", "changed", "may"),
    [("fail", "pass", True), ("fail", "fail", False), ("pass", "pass", False),
     ("fail", "inconclusive", True)],
)  # fmt: skip
def test_a_change_may_explain_steps_in_which_the_weights_are_constant(without, changed, may):
    """The first step of a warmup from 0 confirms no change, but all steps may."""
    before, after = (
        [acceptance.Compared("w", verdict, 1.0, 0.0, 0.0)] for verdict in (without, changed)
    )
    assert acceptance.may_confirm(before, after) == may
    assert not acceptance.confirms(before, after)
