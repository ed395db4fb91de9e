"""Sizes that are computed from others have formulas, from two runs with different numbers."""

import pytest

from jaxgrad.parity.port.finish.computed_sizes import text


NUMBERS = {"s0": (37, 67), "s1": (116, 212), "s2": (124, 236)}


@pytest.mark.parametrize(
    ("first", "second", "formula"),
    [
        ("16", "16", "16"),
        ("116", "212", "s1"),
        ("74", "134", "2*s0"),
        ("58", "106", "s1//2"),
        (str(37 * 58 * 62), str(67 * 106 * 118), "s0*s1*s2//4"),
        ("38", "68", "s0+1"),
        ("s3", "s3", "s3"),
        ("37*s3", "67*s3", "s0*s3"),
    ],
)
def test_a_size_has_a_formula(first, second, formula):
    """A size of both runs is the configuration's; the others are formulas of the inputs' sizes."""
    assert text(first, second, NUMBERS) == formula


def test_a_size_without_a_short_formula_has_no_number_of_the_run():
    """Two sizes that are equal in one run only are different sizes."""
    sizes = {text("8", "14", NUMBERS), text("8", "15", NUMBERS), text("8", "8", NUMBERS)}
    assert len(sizes) == 3
