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
        "y = (x * x.shape[-1] ** -0.5) @ z",
        "y = -x",
        "y = (q * scale) @ k",
        "y = a @ b @ c + d",
    ],
)
def test_brackets_spare_the_reader_the_precedence(source):
    """`-x**2` and `q * scale @ k` mean the same without brackets."""
    (statement,) = ast.parse(source).body
    assert ast.dump(ast.parse(tidy(statement_text(statement)))) == ast.dump(ast.parse(source))
    assert tidy(statement_text(statement)).count("(") == source.count("(")
