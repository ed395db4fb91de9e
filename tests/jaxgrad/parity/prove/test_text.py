"""Numbers are written with the digits that a reader needs."""

import pytest

from jaxgrad.parity.prove import text


NAN = float("nan")


@pytest.mark.parametrize(
    ("x", "short", "full"),
    [
        (1 / 3, "0.33", "0.3333333333333333"),
        (NAN, "NaN", "NaN"),
        (-float("inf"), "-∞", "-∞"),
        (3, "3", "3"),
        (None, "", ""),
    ],
)
def test_numbers_are_formatted(x, short, full):
    """Numbers are formatted with two digits or in full, and special values as words."""
    assert (text.number(x), text.value(x)) == (short, full)


@pytest.mark.parametrize(
    ("x", "y", "short"),
    [
        (1 / 3, 0.5, "0.3333"),
        (1 / 3, 1 / 3 + 1e-9, "0.333333333"),
        (1 / 3, 1 / 3, "0.3333"),
        (1 / 3, None, "0.3333"),
        (1 / 3, NAN, "0.3333"),
        (NAN, 1 / 3, "NaN"),
        (None, 1 / 3, ""),
        (3, 4, "3"),
        ("none", 1.0, "none"),
    ],
)
def test_two_numbers_have_the_digits_that_distinguish_them(x, y, short):
    """A number has four digits, or as many as its partner needs to look different."""
    assert text.distinct(x, y) == short


@pytest.mark.parametrize(
    ("count", "of", "sentence"),
    [
        (1, 1, "1 of 1 gradient differs"),
        (1, 2, "1 of 2 gradients differ"),
        (2, 2, "2 of 2 gradients differ"),
    ],
)
def test_the_verb_agrees_with_the_number_of_values(count, of, sentence):
    """One value differs, and several values differ."""
    assert text.differing(count, of, "gradient") == sentence
