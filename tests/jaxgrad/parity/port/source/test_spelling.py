"""Expressions are spelled as ruff spells them."""

import ast

import pytest

from jaxgrad.parity.port.source.spelling import statement_text, tidy


@pytest.mark.parametrize(
    "source",
    [
        "y = -(x**2)",
        "y = -((x - z) ** 2) / 2",
        "y = (-(x**2)) ** 2",
        "y = (-(x**2)).sum()",
        "y = -x",
    ],
)
def test_a_negative_power_has_brackets(source):
    """Only a reader who knows the precedence reads `-x**2` right."""
    (statement,) = ast.parse(source).body
    assert ast.dump(ast.parse(tidy(statement_text(statement)))) == ast.dump(ast.parse(source))
    assert tidy(statement_text(statement)).count("(") == source.count("(")
