"""The elements of several results have the names of the tuples that group them."""

import ast

import pytest

from jaxgrad.parity.port.finish.columns import with_named_columns
from jaxgrad.parity.port.ir import UpdateBuffer
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.writer import function_text
from jaxgrad.parity.port.source.written import Written


def rewritten(*body: str) -> list[str]:
    """Return the lines of a function whose first two statements name three results each."""
    lines = "\n    ".join(("def f(p, x, a_1):", *body))
    written = Written.helper(lines, "", ast)
    first, second = written.node.body[:2]
    on_statement(first).elements = on_statement(second).elements = 3
    on_statement(first).temporary = True
    on_statement(second).update = UpdateBuffer()
    (new,) = with_named_columns([written])
    return [line.strip() for line in function_text(new).splitlines()[2:]]


CALLS = ("t = f(x)", "t_2, p = f(x)")


def test_elements_are_named_after_the_tuple_that_they_are_in():
    """A position that nothing reads is `_`, and a name that is taken gets another number."""
    body = (*CALLS, "a = t[0], t_2[0]", "b = g([t[2], t_2[2]])", "return a, b, a_1")
    assert rewritten(*body) == [
        "a_0, _, b_0 = f(x)",
        "(a_1_2, _, b_1), p = f(x)",
        "a = a_0, a_1_2",
        "b = g([b_0, b_1])",
        "return a, b, a_1",
    ]
    pair = (*CALLS, "a, b = (t[0], t_2[0]), (t[1], t_2[1])", "return a, b")
    assert rewritten(*pair)[2] == "a, b = (a_0, a_1_2), (b_0, b_1)"


@pytest.mark.parametrize(
    "body",
    [
        ("a = t[0], t_2[0]", "return a, t"),  # a result is read as a whole
        ("a = t[0], t_2[1]", "return a"),  # different positions
        ("a = t[0], t[0]", "return a, t_2"),  # one result twice
        ("a = g((t[0], t_2[0]), (t[1], t_2[1]))", "return a"),  # two tuples of one variable
        ("a = t[0], t_2[0]", "t = g(x)", "return a, t"),  # the name is assigned again
        ("return t[0], t_2[0]",),  # no variable
    ],
)
def test_other_elements_are_read_by_index(body):
    assert rewritten(*CALLS, *body)[:2] == [*CALLS]
