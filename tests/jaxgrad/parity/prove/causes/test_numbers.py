"""Multiples of torch's values and gradients are recognised and described."""

import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.causes import numbers


def test_a_multiple_is_found_among_fingerprints():
    """A JAX value that is torch's divided by sqrt(8) is found, and the factor is reported."""
    x = np.random.default_rng(0).standard_normal((3, 4))
    prints = np.stack([fingerprint(x + 1), fingerprint(x / 8**0.5)])
    at, factor = numbers.find_multiple(x, prints) or (None, 0.0)

    assert at == 1
    assert numbers.as_written(factor) == "1/sqrt(8)"


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.5, "1/2"),
        (2**0.5, "sqrt(2)"),
        (8**-0.5, "1/sqrt(8)"),
        (0.3, "0.3"),
        (-2.0, "-2"),
        (2.0, "2"),
        (1 + 3e-6, "1.000003"),  # must not read as 1
        (0.123456789, "0.123457"),
    ],
)
def test_numbers_are_written_as_people_write_them(x, text):
    """Reciprocals and roots of integers are written as such."""
    assert numbers.as_written(x) == text


def test_the_ratio_of_gradients_is_described():
    """Gradients that are zero, proportional or partly different are described as such."""
    g = np.random.default_rng(0).standard_normal((8, 3))
    padded = g.copy()
    padded[2] = 0

    assert "zero" in numbers.ratio(g, g * 0)
    assert numbers.ratio(g, g / 4) == "JAX's gradient is torch's times 1/4"
    assert numbers.ratio(g, padded) == "only row 2 differs"
    assert numbers.ratio(g, g**2) == ""
    assert numbers.ratio(None, g) == ""


def test_a_single_number_has_no_meaningful_ratio():
    """The ratio of one-element gradients is not a cause, but a missing gradient is reported."""
    assert numbers.ratio(np.ones(1), np.full(1, 2.06676)) == ""
    assert numbers.ratio(np.ones(1), np.zeros(1)) == "JAX's gradient is zero, torch's is not"


def test_a_conjugated_gradient_is_described():
    """A complex gradient that is the conjugate of torch's is described as such."""
    g = np.exp(1j * np.arange(1.0, 5.0))

    assert numbers.ratio(g, g.conj()) == "JAX's gradient is the conjugate of torch's"


def test_a_value_is_found_in_program_order():
    """The first equal value is found. A constant array does not identify a value; a number may."""
    x = np.arange(4.0)
    prints = np.stack([fingerprint(y) for y in (x + 1, x, x[::-1], np.ones(4), np.full(1, 0.3))])

    assert numbers.find(x, prints) == 1
    assert numbers.find(np.ones(4), prints) is None
    assert numbers.find(np.full((), 0.3), prints) == 4
    assert numbers.find(np.ones(()), prints) is None


def test_the_largest_element_is_found():
    """NaN is not the largest element, and an empty array has no largest element."""
    assert numbers.largest(np.array([[1.0, -3.0], [np.nan, 2.0]])) == (0, 1)
    assert numbers.largest(np.array(2.0)) == () == numbers.largest(np.zeros(0))


def test_values_are_equal_if_their_elements_are_in_the_same_order():
    """A transposed value has the same fingerprint, and is not equal."""
    x = np.array([[1.0, 2.0], [3.0, np.nan]])

    assert numbers.equal(x, x * (1 + 1e-12))
    assert not numbers.equal(x, x.T) and not numbers.equal(x, x[:1])


def test_elements_that_are_not_finite_in_one_framework_are_described():
    """The sentence names the framework that gives NaN; NaN in both is not a difference."""
    good, bad = np.array([1.0, 2.0]), np.array([1.0, np.nan])

    text, index = numbers.not_finite(good, bad)
    assert (text, index) == ("JAX gives nan in 1 of 2 elements, torch gives 2 at the first", (1,))
    assert numbers.not_finite(bad, good)[0].startswith("torch gives nan in 1 of 2 elements, JAX")
    assert numbers.not_finite(np.array(3.0), np.array(np.inf)) == (
        "JAX gives inf in its only element, torch gives 3 at the first",
        (),
    )
    for expected, actual in ((bad, bad), (None, bad), (good, bad[:1])):
        assert numbers.not_finite(expected, actual) == ("", ())


G = np.random.default_rng(1).standard_normal((3, 4))


@pytest.mark.parametrize(
    ("x", "others", "found"),
    [
        (G, [G, 2 * G], (1, 2.0)),
        (G, [-0.5 * G], (0, -0.5)),
        (G, [2 * G[:2], 3 * G], (1, 3.0)),
        (G, [2 * G + 1e-7], None),
        (G, [2 * G * (1 + 1e-11)], (0, 2.0)),
        (G, [0 * G], None),
        (G, [], None),
        (G[0, :2], [4 * G[0, :2]], (0, 4.0)),
        (G[0, :1], [4 * G[0, :1]], None),
        (np.ones(4), [2 * np.ones(4)], None),
        (np.zeros(4), [np.zeros(4)], None),
        (np.array([1.0, np.inf]), [np.array([2.0, np.inf])], None),
    ],
)
def test_only_several_different_numbers_have_a_multiple(x, others, found):
    """The factor is not 1, may be negative, and holds for every element."""
    prints = np.stack([fingerprint(y) for y in (*others, np.ones(99))])
    actual = numbers.find_multiple(x, prints if others else prints[:0])
    assert (actual is None) == (found is None)
    if actual and found:
        assert actual[0] == found[0] and actual[1] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (2 * (1 + 0.9e-9), "2"),
        (3 * (1 + 1.5e-9), "3.0000000045"),
        ((1 + 1.5e-9) / 2**0.5, "0.707107"),
        ((1 + 0.9e-9) / 3**0.5, "1/sqrt(3)"),
        ((1 + 1.5e-9) * 2**0.5, "1.41421"),
        ((1 + 1.5e-9) / 3, "0.333333"),
        (1 / 3, "1/3"),
        (1 / 4096, "1/4096"),
        (1 / 4097, "0.000244081"),
        (4095**0.5, "sqrt(4095)"),
        (4098**0.5, "64.0156"),
        (4095**-0.5, "1/sqrt(4095)"),
        (4099**-0.5, "0.0156193"),
        (0.1230001, "0.1230001"),
        (0.123, "0.123"),
        (0.1234567, "0.123457"),
        (0.0, "0"),
    ],
)
def test_numbers_up_to_4096_have_roots_and_reciprocals(x, text):
    """Roots and reciprocals are written as such; other numbers have six digits or more."""
    assert numbers.as_written(x) == text


def rows(count: int, *wrong: int, by: float = 1.0) -> str:
    """Describe a gradient of some rows, some of which differ."""
    expected = np.random.default_rng(0).standard_normal((count, 3))
    actual = expected.copy()
    actual[list(wrong)] += by
    return numbers.ratio(expected, actual)


def test_a_quarter_of_the_rows_may_differ():
    """At most four rows are listed, and rounding is not a difference."""
    assert rows(3, 1) == "only row 1 differs"
    assert rows(3, 1, 2) == "" == rows(8, 1, 2, 3)
    assert rows(8, 1, 5) == "only rows 1, 5 differ"
    assert rows(16, 0, 1, 2, 3) == "only rows 0, 1, 2, 3 differ"
    assert rows(20, 0, 1, 2, 3, 4) == "only rows 0, 1, 2, 3, ... differ"
    rounded = G + 1e-10 * np.arange(3.0)[:, None]
    rounded[1, 2] += 1
    assert numbers.ratio(G, rounded) == "only row 1 differs"
    vector = np.arange(1.0, 9.0)
    assert numbers.ratio(vector, np.where(vector == 2, 5, vector)) == ""


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        (G, 2 * G * (1 + 1e-11), "JAX's gradient is torch's times 2"),
        (G, 2 * G + 1e-7 * G[::-1], ""),
        (G[0, :2], 3 * G[0, :2], "JAX's gradient is torch's times 3"),
        (0 * G, G, ""),
        (G, None, ""),
        (1j * G + 1, (1j * G + 1) * (2 + 1j), ""),
        (1j * G + 1, (1 - 1j * G) + 1e-7 * G, ""),
        (1j * G[0] + 1, 1 - 1j * G[1], ""),
    ],
)
def test_a_relation_holds_for_all_elements(expected, actual, text):
    """No factor is reported for a gradient of zeros, or if the factor is complex."""
    assert numbers.ratio(expected, actual) == text


@pytest.mark.parametrize(
    ("x", "found"),
    [(0.25, None), (0.5, None), (-1.0, None), (3.0, None), (0.3, 0)],
)
def test_quarters_occur_in_any_program(x, found):
    """A single number identifies a value unless it is a multiple of a quarter."""
    prints = fingerprint(np.full(1, x))[None]
    assert numbers.find(np.full((), x), prints) == found
    assert numbers.find(np.full((), x), prints[:0]) is None
    assert numbers.find(G, fingerprint(G * (1 + 1e-7))[None]) is None


def test_proportion_is_a_factor_other_than_one():
    """Arrays have a proportion if one is a multiple of the other, not equal, and not one number."""
    x = np.array([1.0, -2.0, 3.0])
    assert numbers.proportion(x, 2 * x) == pytest.approx(2)
    assert numbers.proportion(x, x) is None
    assert numbers.proportion(x, x + 1) is None
    assert numbers.proportion(x[:1], 2 * x[:1]) is None
    assert numbers.proportion(0 * x, x) is None


@pytest.mark.parametrize(
    ("scale", "off", "factor"),
    [(2.0, 0.0, 2.0), (2.0, 1e-10, 2.0), (2.0, 1e-8, None), (1 + 1.5e-6, 0.0, 1 + 1.5e-6),
     (1 + 0.9e-6, 0.0, None), (0.0, 0.0, None), (-1.0, 0.0, -1.0)],
)  # fmt: skip
def test_a_proportion_is_exact_up_to_rounding(scale, off, factor):
    """The factor must differ from 1 by over 1e-6, and the relative residual be below 1e-9."""
    x, across = np.array([3.0, 4.0]), np.array([4.0, -3.0])
    expected = None if factor is None else pytest.approx(factor, rel=1e-12)
    assert numbers.proportion(x, scale * x + off * across) == expected
    assert numbers.proportion(x[:0], x[:0]) is None
