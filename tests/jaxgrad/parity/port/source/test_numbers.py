"""Numbers are found in an expression, and written as formulas where their digits say nothing."""

import ast
import math

import pytest

from jaxgrad.parity.port.ir import Form, NameOf, Number
from jaxgrad.parity.port.source import numbers, syntax


HEADS = Number(8, "heads", NameOf.ATTRIBUTE)


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
    code = numbers.formula_of(value)
    assert code is not None and syntax.text(code) == text
    assert eval(text, {"math": math}) == value


def test_a_number_without_a_formula_keeps_its_digits():
    """No formula is made up, and short numbers need none."""
    assert numbers.formula_of(0.123456789123) is None
    assert not numbers.is_long(0.125) and numbers.is_long(1 / 3)


@pytest.mark.parametrize("value", [8, -8, 0.5, -0.5, 1 / 3, -1 / 3])
def test_a_numeral_carries_its_number(value):
    """A literal with a sign and a formula are one number, as a literal is."""
    number = Number(value, "scale", NameOf.ATTRIBUTE)
    code = numbers.numeral(number)

    assert numbers.of(code) is number
    assert eval(syntax.text(code)) == value


def test_a_literal_is_a_number_without_an_annotation():
    """Code that nobody has annotated has numbers too; flags, texts and names are none."""
    values = [numbers.of(ast.parse(text, mode="eval").body) for text in ("2", "-0.5", "-(-1)")]
    others = [numbers.of(ast.parse(text, mode="eval").body) for text in ("True", "'p'", "x", "-x")]

    assert values == [Number(2), Number(-0.5), Number(1)] and others == [None] * 4


def test_a_name_in_place_of_a_number_is_not_its_value():
    """A keyword is recognized, and it is not a number in which copies can differ again."""
    code = numbers.keyword("heads", HEADS)
    minus = ast.UnaryOp(ast.USub(), code)

    assert numbers.is_keyword(code) and not numbers.is_keyword(syntax.name("heads"))
    assert numbers.of(code) is None and numbers.of(minus) is None
    assert numbers.named(code) is None, "the author's name would be written twice"


def test_literals_are_found_with_their_signs():
    """The numbers and flags of an expression are labelled after the option."""
    code = ast.parse("f((1, -2), True, 'same', x)", mode="eval").body
    numbers.label(code, "padding")
    found = list(numbers.literals(code))

    assert [numbers.value_of(x) for x in found] == [True, 1, -2]
    assert [numbers.of(x) for x in found[1:]] == [Number(1, "padding"), Number(-2, "padding")]


def formula(value):
    """Return `heads**-0.5` or `heads * 2`, a formula of an attribute."""
    operator, other = (ast.Pow(), -0.5) if value < 1 else (ast.Mult(), 2)
    code = ast.BinOp(numbers.numeral(HEADS), operator, syntax.literal(other))
    return numbers.annotated(code, Number(value, "scale", NameOf.FORMULA))


@pytest.mark.parametrize(
    ("value", "text", "plain"),
    [(8**-0.5, "heads ** (-0.5)", "8 ** (-0.5)"), (16, "heads * 2", "16")],
)
def test_a_formula_is_written_with_all_names_or_with_none(value, text, plain):
    """Without a name for one of its numbers, a formula of few digits is written as its value."""

    def chosen(number):
        return numbers.keyword("heads", number) if number == HEADS else None

    named = numbers.with_names(formula(value), chosen)
    unnamed = numbers.with_names(formula(value), lambda _: None)

    assert syntax.text(named) == text and numbers.is_formula(named)
    assert syntax.text(unnamed) == plain and not numbers.has_author_name(unnamed)


def test_an_option_that_a_call_omits_is_a_number():
    """Two calls are compared in the option that only one of them passes."""
    number = Number(1, "stride", form=Form.OMITTED)

    assert numbers.of(numbers.numeral(number)) is number and not number.has_author_name
