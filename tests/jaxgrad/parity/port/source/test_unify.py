"""Two trees have a template in common, with a hole where a rule lets them differ."""

import ast

import pytest

from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.unify import Unified, literals, unify


def parsed(text):
    return ast.parse(text).body


def texts(unified):
    return [tuple(map(syntax.text, hole)) for hole in unified.holes]


@pytest.mark.parametrize(
    ("left", "right", "holes"),
    [
        ("y = f(x, 1)", "y = f(x, 2)", [("1", "2")]),
        ("y = f(x, 1)", "y = f(x, 1)", [("1", "1")]),
        ("y = p[0] * -2.0", "y = p[1] * 2.0", [("0", "1"), ("-2.0", "2.0")]),
        ("y = f(x, True)", "y = f(x, False)", [("True", "False")]),
        ("x = y\nz = 1", "x = y\nz = 3", [("1", "3")]),
    ],
)
def test_numbers_and_flags_are_holes(left, right, holes):
    """There is a hole even where both trees have the same number, so that many trees line up."""
    unified = unify(parsed(left), parsed(right), literals)

    assert unified is not None and texts(unified) == holes


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("y = f(x)", "y = g(x)"),
        ("y = f(x, 1)", "y = f(x, True)"),
        ("y = f(x, 1)", "y = f(x)"),
        ("y = f(x)", "y = f(x)\nz = y"),
        ("def f(x, n=1): return x", "def f(x, n=2): return x"),
    ],
)
def test_trees_that_differ_in_anything_else_have_no_template(left, right):
    assert unify(parsed(left), parsed(right), literals) is None


def test_a_rule_decides_what_the_template_has():
    """Here it has the sum of two numbers, and the trees are not changed."""

    def added(left, right):
        if numbers.is_literal(left) and numbers.is_literal(right):
            return Unified(syntax.constant(left.value + right.value), [(left, right)])
        return unify(left, right, added)

    left, right = parsed("y = f(x, 1)"), parsed("y = f(x, 2)")
    unified = unify(left, right, added)

    assert unified is not None and syntax.text(unified.template[0]) == "y = f(x, 3)"
    assert [syntax.text(x) for x in (*left, *right)] == ["y = f(x, 1)", "y = f(x, 2)"]
    assert unified.holes[0][0] is left[0].value.args[1]
