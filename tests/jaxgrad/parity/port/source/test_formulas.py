"""Numbers are written as formulas where their digits say nothing."""

import math

import pytest

from jaxgrad.parity.port.source import formulas, syntax


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1 / 3, "1 / 3"),
        (2**-0.5, "2 ** (-0.5)"),
        (-math.log(2), "-math.log(2)"),
        (math.pi, "math.pi"),
        (0.5 * math.log(2 * math.pi), "0.5 * math.log(2 * math.pi)"),
    ],
)
def test_a_formula_has_the_value_of_the_number(value, text):
    """The formula is exact, and it is what a person writes."""
    code = formulas.found(value)
    assert code is not None and syntax.text(code) == text
    assert eval(text, {"math": math}) == value


def test_a_number_without_a_formula_keeps_its_digits():
    """No formula is made up, and short numbers need none."""
    assert formulas.found(0.123456789123) is None
    assert not formulas.is_long(0.125) and formulas.is_long(1 / 3)
