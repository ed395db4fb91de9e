"""`judge` compares two arrays with an allowance for rounding."""

from collections.abc import Iterator

import numpy as np
import pytest

from jaxgrad.parity.prove.judge import (
    CONTROL_SIZE,
    CONTROL_SIZES,
    MAX_ROUNDING,
    MAX_TABLE_ROUNDING,
    ROUNDING_FACTOR,
    RTOL,
    STRUCTURAL_ZERO,
    judge,
    max_difference,
    one_sided,
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
    assert judge("w", X, X + 1e-7, [1e-7]).verdict == "pass"
    assert judge("w", X, X + 1e-7, [1e-9]).verdict == "fail"


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


def test_an_array_without_dimensions_is_compared_with_its_reruns():
    """A numpy scalar in `reruns` is the value of a rerun, but a Python float is a difference."""
    x = np.array(3.0)
    reruns = [x + 0.0, x * 1.0]
    assert isinstance(reruns[0], np.float64)

    assert judge("w", x, x, reruns).verdict == "pass"
    assert judge("w", x, x + 1e-9, reruns).verdict == "fail"
    assert judge("n", np.array(1), np.array(2)).verdict == "fail"
    assert judge("w", x, x + 1e-9, [1e-9]).verdict == "pass"


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


def test_the_bounds_have_their_documented_sizes():
    """The tolerances are the numbers that the documentation states."""
    assert (RTOL, CONTROL_SIZE, STRUCTURAL_ZERO) == (1e-12, 1e-9, 1e-13)
    assert (ROUNDING_FACTOR, MAX_ROUNDING, MAX_TABLE_ROUNDING) == (30.0, 1e-6, 3e-4)
    assert CONTROL_SIZES[0] == CONTROL_SIZE


@pytest.mark.parametrize(
    ("rerun", "verdict"), [(1e-7, "pass"), (2e-7, "inconclusive")], ids=["small", "large"]
)
def test_rounding_is_too_large_relative_to_the_scale(rerun, verdict):
    """Thirty times the change by rounding may be up to 1e-6 of the scale, which is 4 here."""
    judged = judge("w", X, X + 1e-9, [rerun])
    assert judged.verdict == verdict
    assert judge("w", X, X + 1e-9, [100 * rerun], most=MAX_TABLE_ROUNDING).verdict == "pass"


def test_an_inconclusive_leaf_says_how_much_rounding_may_change_it():
    judged = judge("w", X, X + 4e-5, [1.2e-3])
    assert judged.verdict == "inconclusive"
    assert judged.doubt == "by up to 0.009 of its scale, and torch and JAX differ by 1e-05"


def test_arrays_that_agree_pass_whatever_rounding_does():
    """A port with torch's bits is right at a tie, and no rerun is made for it."""

    def never() -> Iterator[float]:
        raise AssertionError
        yield 0.0

    assert judge("w", X, X * (1 + 1e-13), never()).verdict == "pass"
    assert judge("w", 0 * X, 0 * X, never(), tree_scale=1.0).verdict == "zero"


@pytest.mark.parametrize(
    ("difference", "read"), [(1e-13, 0), (1e-9, 1), (1e-7, 2), (1e-6, 2), (1.0, 2)]
)
def test_a_rerun_is_read_only_if_the_verdict_needs_it(difference, read):
    """The second is read unless the first allows for a hundred times the difference."""
    reads = []

    def reruns() -> Iterator[float]:
        for k in range(2):
            reads.append(k)
            yield 1e-8

    x = np.array([1.0])
    verdict = judge("w", x, x + difference, reruns(), most=1.0).verdict
    assert len(reads) == read
    assert verdict == ("pass" if difference < 3e-7 else "fail")


@pytest.mark.parametrize(
    ("difference", "own", "verdict", "asked"),
    [(1e-9, 1e-10, "pass", 1), (1e-9, 1e-11, "fail", 1), (1e-8, 1e-7, "inconclusive", 1),
     (1e-11, 1.0, "pass", 0), (1e-2, 1.0, "fail", 0)],
)  # fmt: skip
def test_rounding_in_jax_is_measured_where_torchs_explains_too_little(
    difference, own, verdict, asked
):
    """A large difference is no rounding, and torch's own rounding may be enough."""
    calls = []
    x = np.array([1.0])
    judged = judge("w", x, x + difference, [1e-12], in_jax=lambda: calls.append(1) or own)
    assert (judged.verdict, len(calls)) == (verdict, asked)


def test_a_value_of_the_size_of_a_structural_zero_is_zero():
    """Both values count as zero up to and including 1e-13 of the tree's scale, but not above."""
    tiny = np.array([STRUCTURAL_ZERO])
    judged = judge("w", tiny, tiny, tree_scale=1.0)

    assert (judged.verdict, judged.difference, judged.scale) == ("zero", 0.0, 1.0)
    assert judge("w", 1.5 * tiny, 1.5 * tiny, tree_scale=1.0).verdict == "pass"
    assert judge("w", tiny, 1.5 * tiny, tree_scale=1.0).verdict == "fail"
    assert judge("w", tiny, 1.5 * tiny, [1e-13], tree_scale=1.0).verdict == "zero"


def test_integers_have_no_tolerance():
    """The row of an integer leaf has the difference 0 or 1 and the tolerance 0."""
    n = np.array([1, 2])

    assert judge("n", n, n).row() | {"index": []} == {
        "name": "n", "verdict": "pass", "difference": 0.0, "allowed": 0.0, "index": [],
        "torch": None, "jax": None,
    }  # fmt: skip
    wrong = judge("n", n, n + 1)
    assert (wrong.difference, wrong.allowed, wrong.scale, wrong.share) == (1.0, 0.0, 1.0, 1.0)


def test_equal_arrays_differ_by_zero():
    """The largest difference of equal arrays is zero, even if all elements are NaN."""
    assert max_difference(X, X) == 0
    assert max_difference(np.array([np.nan]), np.array([np.nan])) == 0


@pytest.mark.parametrize(
    ("x", "most"),
    [([1e-3, 1e-3], 1.2e-10), ([100.0, 1.0], 1.2e-5), ([9e3, 1.0], 1.1e-3)],
    ids=["small", "large", "largest"],
)
def test_float32_noise_grows_with_the_largest_element(x, most):
    """The noise is the rounding of the largest element, at every element."""
    x = np.array(x)
    draws = [with_float32_noise(x, np.random.default_rng(seed)) - x for seed in range(8)]

    assert most / 3 < np.max(np.abs(draws)[:, 1]) <= most


def test_the_noise_of_a_huge_array_is_relative_to_each_element():
    """Above 1e4, as in a mask of -1e9, each element has its own noise."""
    x = np.array([1.5e4, 1.0])
    draws = [with_float32_noise(x, np.random.default_rng(seed)) - x for seed in range(8)]

    assert 0 < np.max(np.abs(draws)[:, 1]) <= 1.2e-7


def test_nan_is_no_structural_zero():
    """A gradient of NaN in one framework fails, and in both it passes as NaN."""
    nan, zero = np.array([np.nan, 0.0]), np.zeros(2)

    assert judge("x", nan, zero, tree_scale=1.0).verdict == "fail"
    assert judge("x", zero, nan, tree_scale=1.0).verdict == "fail"
    assert judge("x", nan, nan, tree_scale=1.0).verdict == "pass"
    assert judge("x", zero, zero, tree_scale=1.0).verdict == "zero"


@pytest.mark.parametrize("missing", ["torch", "jax"])
def test_a_gradient_of_one_framework_is_compared_with_zeros(missing):
    """The other framework's value is None, and the difference is relative to the gradient."""
    given = {"torch": np.array([1.0, -4.0]), "jax": np.array([1.0, -4.0]), missing: None}
    judged = one_sided("input 0", given["torch"], given["jax"], [], 1.0)

    assert (judged.verdict, judged.share, judged.index) == ("fail", 1.0, (1,))
    row = judged.row()
    assert row.pop(missing) is None and -4.0 in row.values()


def test_a_tiny_gradient_of_one_framework_is_zero():
    """Rounding relative to the gradients of the whole tree is no gradient."""
    assert one_sided("input 0", None, np.array([1e-15]), [], 1.0).verdict == "zero"


@pytest.mark.parametrize(
    ("torch", "jax", "text"),
    [
        ([4.0, 2.0], [4.0, 1.0], "is off by 0.25 (relative to its scale)"),
        ([1.0, 2.0], [np.nan, 2.0], "has elements that are not finite in JAX alone"),
        ([1.0, np.inf], [1.0, 2.0], "has elements that are not finite in torch alone"),
        ([1.0, np.inf], [1.0, -np.inf], "has other elements that are not finite in JAX than in t"),
    ],
)
def test_a_difference_is_a_size_or_the_program_that_is_not_finite(torch, jax, text):
    """No text says that something is off by infinity."""
    assert judge("x", np.array(torch), np.array(jax)).off.startswith(text)
