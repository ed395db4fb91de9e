"""Tests of the lines that the report page marks in a program."""

from parity_tests.case import load
from parity_tests.report.marked import marked, under_test
from parity_tests.report.worked import marks


PROGRAM = """def detach(net, x, *, stop_gradient=lax.stop_gradient):
    h = net(x)  # stop_gradient comes next
    h = stop_gradient(h) < 1
    return h.detach()"""


def test_the_lines_that_read_the_tool_are_under_test():
    """Neither the signature nor a comment is marked, though both have the name of the tool."""
    assert under_test(PROGRAM, "lax.stop_gradient(h)", ("stop_gradient",)) == {2}


def test_without_a_tool_the_line_of_the_idiom_is_under_test():
    """The name of the program is not taken for the function that the idiom calls."""
    assert under_test(PROGRAM, "h.detach()") == {3}
    assert under_test(PROGRAM, "for row in x: ...") == frozenset()


def test_a_marked_line_keeps_its_indentation_and_its_text():
    """The text of the page is the source; what is marked has no leading blanks."""
    lines = str(marked(PROGRAM, frozenset({2}))).splitlines()

    assert lines[2] == "    <mark>h = stop_gradient(h) &lt; 1</mark>"
    assert lines[0] == PROGRAM.splitlines()[0]


def test_most_cases_have_marked_lines_in_both_programs():
    """A program that does its job without any function, such as a loop, has no marked line."""
    both = [all(marks(case)) for case in load().values()]

    assert sum(both) > 0.6 * len(both)
