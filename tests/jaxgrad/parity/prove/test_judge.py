"""Two arrays are compared with an allowance for rounding."""

import numpy as np
import pytest

from jaxgrad.parity.prove.judge import (
    CONTROL_SIZE,
    RTOL,
    judge,
    max_difference,
    with_float32_noise,
)


X = np.array([1.0, -2.0, 4.0])


def test_verdicts_depend_on_rounding():
    """The verdict depends on the difference, on rounding, on zeros and on NaN."""
    x = np.array([1.0, 2.0])
    assert judge("x", x, x * (1 + 1e-13)).verdict == "pass"
    assert judge("x", x, x * (1 + 1e-9)).verdict == "fail"
    assert judge("x", x, x * (1 + 1e-9), [x * (1 + 1e-9)]).verdict == "pass"
    assert judge("x", x, x * (1 + 1e-3), [x * (1 + 1e-3)]).verdict == "inconclusive"
    assert judge("x", x * 1e-20, x * 3e-20, tree_scale=1.0).verdict == "zero"
    assert judge("x", np.array([np.nan]), np.array([np.nan])).verdict == "pass"
    assert judge("x", np.array([np.nan]), np.array([1.0])).verdict == "fail"


def test_the_worst_element_is_reported():
    """A failing comparison reports both values of the element that differs most."""
    judged = judge("w", X, X + np.array([0.0, 0.5, 0.25]))

    assert (judged.verdict, judged.index) == ("fail", (1,))
    assert (judged.torch, judged.jax) == (-2.0, -1.5)
    assert judged.share == 0.5 / 4


def test_reruns_may_be_given_as_numbers():
    """The allowance for rounding may be given as the size of a difference."""
    assert judge("w", X, X + 1e-6, [1e-6]).verdict == "pass"
    assert judge("w", X, X + 1e-6, [1e-8]).verdict == "fail"


def test_integers_are_compared_exactly():
    """Integers must be equal, and the first unequal element is reported."""
    n = np.array([[1, 2], [3, 4]])
    judged = judge("n", n, n + np.array([[0, 0], [1, 0]]))

    assert judge("n", n, n).verdict == "pass"
    assert (judged.verdict, judged.index, judged.torch, judged.jax) == ("fail", (1, 0), 3, 4)


def test_an_explicit_scale_replaces_the_leafs():
    """A difference that is small relative to an explicit scale passes."""
    assert judge("w", X, X + 1e-10, scale=1e3).verdict == "pass"
    assert judge("w", X, X + 1e-10).verdict == "fail"


@pytest.mark.parametrize("factor", [1 + CONTROL_SIZE, 1 + 10 * RTOL])
def test_a_control_exceeds_the_tolerance(factor):
    """An error as large as a negative control's fails."""
    assert judge("w", X, X * factor).verdict == "fail"


def test_a_zero_in_one_framework_only_is_an_error():
    """A structural zero must be zero in both frameworks."""
    assert judge("w", X * 0, X * 1e-15, tree_scale=1.0).verdict == "zero"
    assert judge("w", X * 0, X, tree_scale=1.0).verdict == "fail"


def test_an_empty_array_passes():
    """Empty arrays pass and have no worst element."""
    judged = judge("w", np.zeros((0, 3)), np.zeros((0, 3)))

    assert (judged.verdict, judged.index, judged.torch) == ("pass", (), None)


def test_a_row_holds_relative_numbers():
    """A row of the report gives differences relative to the scale."""
    row = judge("w", X, X + np.array([0.0, 0.0, 1.0])).row()

    assert (row["difference"], row["allowed"], row["index"]) == (0.25, RTOL, [2])


def test_the_largest_finite_difference_is_returned():
    """The largest difference ignores NaN."""
    assert max_difference(np.array([1.0, 2.0]), np.array([1.5, np.nan])) == 0.5


def test_float32_noise_has_the_size_of_float32():
    """The noise of a rounded constant is at most one float32 ULP of its largest element."""
    x = np.linspace(-1, 1, 101)
    off = np.abs(with_float32_noise(x, np.random.default_rng(0)) - x)

    assert 0 < off.max() <= 1.2e-7
