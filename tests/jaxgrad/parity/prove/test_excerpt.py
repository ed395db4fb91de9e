"""The page shows the lines around a finding, in the function that contains them."""

import re

import pytest

from jaxgrad.parity.prove.excerpt import colored, parts
from jaxgrad.parity.prove.listings import Listing


SOURCE = '''
def other(x):
    return x


def port(p, x):
    """Return 3 values.

    for each row
    """
    x = x + 1
    x = x + 2
    x = x + 3
    x = x + 4
    y = lax.stop_gradient(x)  # not in torch
    x = x + 5
    x = x + 6
    return y


def last(x):
    return x
'''
LINES = tuple(SOURCE.splitlines()[1:])


def shown(*marked: int, lines: tuple[str, ...] = LINES) -> list[tuple[bool, list[int]]]:
    """Return whether each part is shown, and the numbers of its lines."""
    listing = Listing("port.py", 1, lines, marked)
    return [(part.is_shown, [row.number for row in part.rows]) for part in parts(listing)]


def test_the_lines_around_a_marked_one_are_shown_with_the_head_of_the_function():
    """Four lines above and below are shown, and none of another function."""
    number = next(k for k, line in enumerate(LINES, 1) if "stop_gradient" in line)

    assert number == 14
    assert shown(number) == [
        (False, [1, 2, 3, 4]),
        (True, [5]),
        (False, [6, 7, 8, 9]),
        (True, [10, 11, 12, 13, 14, 15, 16, 17]),
        (False, [18, 19, 20, 21]),
    ]


def test_a_short_gap_is_shown():
    """A gap of two lines or fewer takes no more room than the note about it."""
    assert shown(12)[1] == (True, list(range(5, 17)))
    assert shown(10, 17)[1] == (True, list(range(5, 18)))


def test_the_head_of_a_function_may_be_marked():
    """The body of a marked function is that of its own, not of the function before."""
    assert shown(5)[1] == (True, [5, 6, 7, 8, 9])
    assert shown(2) == [(True, [1, 2]), (False, list(range(3, 22)))]


def test_a_signature_of_several_lines_does_not_end_its_function():
    """The line with the closing parenthesis has the indent of the function's head."""
    lines = ("def f(", "    x,", "):", "    y = x", "    return y", "", "", "def g():", "    pass")

    assert shown(5, lines=(*lines, "", ""))[0] == (True, [1, 2, 3, 4, 5])


def test_all_lines_are_shown_without_a_mark():
    """A listing of a proof that passes has no marked line."""
    assert shown() == [(True, list(range(1, 22)))]
    assert parts(Listing("port.py", 1, (), ())) == []


def test_lines_outside_of_a_function_are_shown():
    """A marked line at the top level of a file, or of a cut function, has its neighbours."""
    lines = tuple(f"x = {k}" for k in range(12))

    assert shown(6, lines=lines) == [(True, list(range(1, 13)))]
    assert shown(1, lines=lines) == [(True, [1, 2, 3, 4, 5]), (False, list(range(6, 13)))]


def test_tokens_have_classes():
    """Keywords, strings, numbers and comments are told apart, in strings of several lines too."""
    lines = colored(LINES)

    assert lines[0] == (("keyword", "def"), ("", " other(x):"))
    assert lines[5] == (("", "    "), ("string", '"""Return 3 values.'))
    assert lines[6] == ()
    assert lines[7] == (("string", "    for each row"),)
    assert lines[9] == (("", "    x = x + "), ("number", "1"))
    assert lines[13][-1] == ("comment", "# not in torch")
    assert ["".join(text for _, text in line) for line in lines] == list(LINES)


@pytest.mark.parametrize(
    "lines",
    [
        ("    return x", "  y = 1", "if x: 2"),  # indents that do not match
        ("x = (1,", "     2"),
        ('x = """text', "for"),
        ("$ ?", "for x in y:"),
        ("\x00",),
        ("(0): ReLU()", "  é = f'{x!r} {y}'"),
    ],
)
def test_lines_that_are_no_program_keep_their_text(lines):
    """The text of every line is complete, whatever can be tokenized."""
    assert ["".join(text for _, text in line) for line in colored(lines)] == list(lines)


def test_the_printed_form_of_a_module_is_not_colored():
    """A module that torch wrote is no program."""
    (part,) = parts(Listing("", 1, ("Sequential(", "  (0): for"), ()))

    assert [row.pieces for row in part.rows] == [(("", "Sequential("),), (("", "  (0): for"),)]
    assert not re.search("keyword", str(part))
