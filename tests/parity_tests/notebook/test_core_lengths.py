"""A lesson shows at most ten lines on each side, unless a reason is recorded."""

import functools

import pytest

from parity_tests.case import load
from parity_tests.notebook.core import Core, core_of
from parity_tests.notebook.core_lengths import LESSONS, LINES, LONGER, LONGEST
from tests.parity_tests.notebook._lessons import displayed, lessons


@functools.cache
def lengths():
    """Return the length of the longer program of every lesson, by the id of its case."""
    cases = load()
    longest = {}
    for _, id, prints in lessons():
        cores = [core_of(program, prints) for program in (cases[id].reference, cases[id].fun)]
        longest[id] = max(longest.get(id, 0), *(core.length for core in cores))
    return longest


def test_a_lesson_shows_at_most_ten_lines_on_each_side():
    """Both programs of each lesson have ten lines or fewer, unless a reason is recorded."""
    assert len(lengths()) > 150
    long = {id: length for id, length in lengths().items() if length > LINES and id not in LONGER}

    assert not long, (
        "simplify these cases, or record a reason in parity_tests/notebook/core_lengths.py"
    )


def test_a_longer_lesson_has_a_reason_and_a_bound():
    """Few lessons are longer than ten lines, each by little and for a recorded reason."""
    long = {id: length for id, length in lengths().items() if length > LINES}

    assert set(LONGER) == set(long), "the reason for a lesson that is not longer is out of date"
    assert len(long) <= LESSONS
    assert max(long.values()) <= LONGEST
    assert all(len(reason.split()) > 4 for reason in LONGER.values())


def test_a_cell_that_only_reads_values_shows_no_lines():
    """A call whose result is assigned displays nothing; the other calls are found with `prints`."""
    script = 'show("a/b", only="x")\nvalues = show("c/d").values\nprograms("e/f", prints="y z")\n'

    assert list(displayed(script)) == [("show", "a/b", ""), ("programs", "e/f", "y z")]


@pytest.mark.parametrize(("text", "length"), [("x = 1", 1), ("x = 1\n\n# why\nprint(x)", 3)])
def test_an_empty_line_does_not_count(text, length):
    """The length of a core counts its comments and its code, but no empty lines."""
    assert Core(text).length == length
