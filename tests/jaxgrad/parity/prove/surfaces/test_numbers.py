"""Multiples of torch's values and gradients are recognised and described."""

import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.surfaces import numbers


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
    """The first equal value is found; constants identify nothing, single numbers may."""
    x = np.arange(4.0)
    prints = np.stack([fingerprint(y) for y in (x + 1, x, x[::-1], np.ones(4), np.full(1, 0.3))])

    assert numbers.find(x, prints) == 1
    assert numbers.find(np.ones(4), prints) is None
    assert numbers.find(np.full((), 0.3), prints) == 4
    assert numbers.find(np.ones(()), prints) is None


def test_the_largest_element_is_found():
    """NaN is not the largest, and an empty array has no element."""
    assert numbers.largest(np.array([[1.0, -3.0], [np.nan, 2.0]])) == (0, 1)
    assert numbers.largest(np.array(2.0)) == () == numbers.largest(np.zeros(0))


def test_values_are_equal_if_their_elements_are_in_the_same_order():
    """A transposed value has the same fingerprint, and is not equal."""
    x = np.array([[1.0, 2.0], [3.0, np.nan]])

    assert numbers.equal(x, x * (1 + 1e-12))
    assert not numbers.equal(x, x.T) and not numbers.equal(x, x[:1])


def test_elements_that_are_not_finite_in_one_framework_are_described():
    """The sentence names the framework with NaN; NaN in both is no difference."""
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
