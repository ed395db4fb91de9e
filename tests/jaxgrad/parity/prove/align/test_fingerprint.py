"""A fingerprint summarizes an array independently of the order of its elements."""

import sys

import jax
import numpy as np
import pytest

from jaxgrad.parity.prove.align.fingerprint import (
    SIZE,
    fingerprint,
    is_constant,
    magnitude,
    negated,
    print_distance,
    repeated,
    stack,
)


@pytest.mark.parametrize(
    "change",
    [np.transpose, np.flip, lambda x: x.reshape(2, 2, 3)],
    ids=["transpose", "flip", "reshape"],
)
def test_a_fingerprint_ignores_the_order_of_elements(change):
    """Rearranging an array keeps its fingerprint, and changing one element does not."""
    x = np.random.default_rng(0).standard_normal((4, 3))
    assert print_distance(fingerprint(x), fingerprint(change(x))) < 1e-14
    assert print_distance(fingerprint(x), fingerprint(x * (1 + 1e-9))) > 1e-10
    y = x.copy()
    y[1, 2] += 1e-6
    assert print_distance(fingerprint(x), fingerprint(y)) > 1e-9


def test_a_fingerprint_counts_nan_and_infinities():
    """Arrays with infinities of different sign have infinitely distant fingerprints."""
    x = np.array([1.0, np.nan, -np.inf])
    assert print_distance(fingerprint(x), fingerprint(x)) == 0
    assert print_distance(fingerprint(x), fingerprint(np.array([1.0, np.nan, np.inf]))) == np.inf


@pytest.mark.parametrize("extra", [[], [np.inf], [-np.inf, -np.inf, np.nan]])
def test_the_negative_of_an_array_has_the_negated_fingerprint(extra):
    """The counts of both infinities are exchanged, and so are the extremes."""
    x = np.array([*np.random.default_rng(0).standard_normal(7), *extra])

    assert print_distance(negated(fingerprint(x)), fingerprint(-x)) == 0
    assert print_distance(negated(fingerprint(x)), fingerprint(x)) > 1e-3


def test_a_repeated_array_has_a_scaled_fingerprint():
    """The fingerprint of a repeated array can be computed from that of the original."""
    x = np.array([1.0, -2.0, np.inf])
    (print_,) = repeated(fingerprint(x), np.array([[3.0]]))

    assert print_distance(print_, fingerprint(np.tile(x, 3))) < 1e-14


def test_constants_and_magnitudes_are_read_from_a_fingerprint():
    """A fingerprint shows whether an array is constant, and its largest finite magnitude."""
    assert is_constant(fingerprint(np.ones((2, 2)))) and not is_constant(fingerprint([1.0, 2.0]))
    assert magnitude(fingerprint(np.array([1.0, -3.0, np.nan]))) == 3


def test_a_complex_array_has_the_fingerprint_of_its_parts():
    """A complex array has the fingerprint of its real and imaginary parts."""
    z = np.array([1 + 2j, 3 - 1j])

    assert print_distance(fingerprint(z), fingerprint(np.array([1.0, 3, 2, -1]))) < 1e-14


def test_an_empty_array_has_a_fingerprint():
    """The fingerprint of an empty array is zero, and stacking no fingerprints gives zero rows."""
    assert not fingerprint(np.zeros((0, 3))).any()
    assert stack([]).shape == (0, SIZE)


def test_a_large_array_has_the_fingerprint_of_one_chunk(monkeypatch):
    """An array that is read in chunks has the fingerprint of the array read as a whole."""
    x = np.random.default_rng(0).standard_normal((50, 7))
    x[3, 2], x[49, 6], x[0, 0] = np.inf, np.nan, -5.0
    whole = fingerprint(x)
    monkeypatch.setitem(fingerprint.__globals__, "_CHUNK", 32)

    for chunked in (fingerprint(x), fingerprint(x.T)):
        assert print_distance(chunked, whole) < 1e-14


def test_a_fingerprint_holds_counts_extremes_and_means():
    """A fingerprint has the size, NaN and infinities, extremes, means and bounded means."""
    x = np.array([3.0, -1.0, 0.5, np.nan, np.inf, -np.inf, np.inf])
    v = np.array([3.0, -1.0, 0.5, 0, 0, 0, 0])
    soft = [
        m
        for c in (1e-6, 1e-3, 1.0, 1e3)
        for m in (np.abs(v) / (c + np.abs(v)), v / (c + np.abs(v)))
    ]
    expected = [7, 1, 2, 1, 3.0, -1.0, np.abs(v).mean(), v.mean(), *(m.mean() for m in soft)]

    print_ = fingerprint(x)
    assert isinstance(print_, np.ndarray) and print_.shape == (SIZE,)
    np.testing.assert_allclose(print_, expected, rtol=1e-14)


def test_a_traced_array_has_the_same_fingerprint():
    """Under `jax.jit` the fingerprint is that of numpy."""
    x = np.random.default_rng(0).standard_normal((3, 4))

    assert print_distance(np.asarray(jax.jit(fingerprint)(x)), fingerprint(x)) < 1e-14


@pytest.mark.parametrize("size", [2**15, 2**15 + 1, 3 * 2**15])
def test_a_large_array_has_the_fingerprint_of_all_its_chunks(size):
    """The extremes, counts and means are those of the whole array."""
    x = np.random.default_rng(0).standard_normal(size)
    x[[0, size // 2, -1]] = 9.0, np.nan, -9.0

    np.testing.assert_allclose(fingerprint(x), jax.jit(fingerprint)(x), rtol=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-3])
def test_the_distance_is_relative(scale):
    """An error of 1e-9 in every element is a distance of 1e-9, whatever the scale."""
    x = scale * np.array([1.0, -2.0, 4.0])

    assert 0.5e-9 < print_distance(fingerprint(x), fingerprint(x * (1 + 1e-9))) < 2e-9


def test_a_mean_that_cancels_is_compared_with_the_magnitudes():
    """Rounding in a mean near zero is small relative to the elements; zeros have no distance."""
    x, y = np.array([1.0, -1.0]), np.array([1.0 + 4e-16, -1.0])

    assert print_distance(fingerprint(x), fingerprint(y)) < 1e-14
    assert print_distance(fingerprint(np.zeros(3)), fingerprint(np.zeros(3))) == 0


def test_opposite_numbers_are_not_a_constant():
    """An array of 2 and -2 is not constant, though all magnitudes are equal."""
    assert not is_constant(fingerprint(np.array([2.0, -2.0])))
    assert is_constant(fingerprint(np.array([3.0])))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
def test_a_fingerprint_does_not_depend_on_chunks(bad, monkeypatch):
    """Chunks with and without NaN and infinities add up to the fingerprint of the whole."""
    x = np.random.default_rng(0).standard_normal(1000)
    if bad is not None:
        x[[3, 700]] = bad
    whole = jax.jit(fingerprint)(x)
    monkeypatch.setattr(sys.modules[fingerprint.__module__], "_CHUNK", 64)

    assert print_distance(np.asarray(whole), fingerprint(x)) < 1e-14
