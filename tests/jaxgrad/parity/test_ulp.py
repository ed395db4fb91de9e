"""Distances between floats in ULP and relative to a scale."""

import math

import ml_dtypes
import numpy as np
import pytest

from jaxgrad.parity import ulp


BF16 = np.dtype(ml_dtypes.bfloat16)
TINY = {np.float32: 2.0**-149, np.float64: 5e-324, BF16: 2.0**-133}


@pytest.mark.parametrize(
    ("dtype", "inexact"),
    [
        (np.float32, True),
        (np.complex64, True),
        (BF16, True),
        (ml_dtypes.float8_e4m3fn, True),
        (np.int32, False),
        (np.bool_, False),
        (np.dtype([("float", "i4")]), False),
        (ml_dtypes.int4, False),
        (np.dtype("U3"), False),
    ],
)
def test_floats_of_every_size_and_complex_numbers_are_inexact(dtype, inexact):
    """Integers, text and structures are not."""
    assert ulp.is_inexact_dtype(dtype) == inexact


def test_arrays_and_numpy_scalars_are_arrays():
    """Python numbers and lists are not."""
    assert ulp.is_array(np.ones(1)) and ulp.is_array(np.float32(1))
    assert not ulp.is_array(1.0) and not ulp.is_array([1.0])


@pytest.mark.parametrize(("scale", "step"), [(1.0, 1.0), (1.5, 1.0), (2.0, 2.0), (0.75, 0.5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, BF16, np.complex64])
def test_the_spacing_is_one_ulp_at_the_scale(scale, step, dtype):
    """The spacing doubles at each power of two; a complex dtype has that of its parts."""
    assert ulp.spacing(scale, dtype) == step * ulp.epsilon(dtype)


@pytest.mark.parametrize("dtype", list(TINY))
def test_the_spacing_is_the_smallest_number_near_zero(dtype):
    """At 0 and below the normal numbers, neighbours differ by the smallest subnormal."""
    assert ulp.spacing(0.0, dtype) == TINY[dtype] == ulp.spacing(TINY[dtype], dtype)


@pytest.mark.parametrize("scale", [math.inf, math.nan])
def test_a_scale_that_is_not_finite_has_no_spacing(scale):
    """An infinity gives no allowance for rounding."""
    assert ulp.spacing(scale, np.float32) == 0.0


@pytest.mark.parametrize(
    ("leaf", "scale"),
    [
        (np.array([1.0, -3.0]), 3.0),
        (np.array([2.0, 0.5]), 2.0),
        (np.array([np.inf, -3.0, np.nan]), 3.0),
        (np.array([-np.inf, 2.0]), 2.0),
        (np.array([np.inf]), 0.0),
        (np.array([]), 0.0),
        (np.array([3 + 4j, np.inf]), 5.0),
        (np.array([], complex), 0.0),
        (np.array([-7], BF16), 7.0),
        (np.array([7]), 0.0),
        (7.0, 0.0),
        ("a", 0.0),
    ],
)
def test_the_scale_is_the_largest_finite_magnitude(leaf, scale):
    """Leaves that are not arrays of floats have the scale 0."""
    assert ulp.scale_of(leaf) == scale


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1.0, -2.0], [1.5, 2.0], [0.5, 4.0]),
        ([np.nan, np.inf, -np.inf], [np.nan, np.inf, -np.inf], [0.0, 0.0, 0.0]),
        ([np.nan, 1.0, np.inf], [1.0, np.nan, 1.0], [np.inf, np.inf, np.inf]),
        ([np.inf, np.inf, 3.0], [-np.inf, np.nan, 1.0], [np.inf, np.inf, 2.0]),
        ([3.0 + 0j], [4j], [5.0]),
        ([3.0 + 0j], [3.0], [0.0]),
        ([3.0], [3.0 + 2j], [2.0]),
        ([complex(np.inf, 0)], [complex(np.inf, np.inf)], [np.inf]),
        ([complex(1, np.nan)], [complex(1, np.nan)], [0.0]),
    ],
)
def test_nan_equals_nan_and_an_infinity_itself(left, right, expected):
    """Any other distance from a NaN or an infinity is infinite."""
    result = ulp.distance(np.array(left), np.array(right))
    assert result.dtype == np.float64 and result.tolist() == expected


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("steps", "bin"), [(0, 0), (1, 1), (3, 2), (4, 3), (127, 7), (128, 8)])
def test_a_histogram_counts_the_numbers_between(dtype, steps, bin):
    """The bins start at 0, 1, 2, 4, ... 128 ULP, whatever the sign of the numbers."""
    assert ulp.BINS == (0, 1, 2, 4, 8, 16, 32, 64, 128)
    near = np.array([1.0, -1.0], dtype)
    bits = near.view(f"i{near.itemsize}") + steps
    counts = ulp.histogram(near, bits.view(dtype))
    assert counts == tuple(2 * (k == bin) for k in range(len(ulp.BINS)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, BF16])
def test_numbers_of_both_signs_are_consecutive(dtype):
    """The two zeros are equal, and the smallest numbers on their sides are two steps apart."""
    zero, tiny = np.zeros(1, dtype), np.array([TINY.get(dtype, 2.0**-24)], dtype)
    assert ulp.histogram(zero, -zero)[0] == 1
    assert ulp.histogram(tiny, zero)[1] == 1
    assert ulp.histogram(tiny, -tiny)[2] == 1
    huge = np.array([ml_dtypes.finfo(dtype).max], dtype)
    assert ulp.histogram(huge, -huge)[8] == 1


def test_both_parts_of_a_complex_number_are_counted():
    """A complex array has twice as many numbers."""
    x = np.array([1 + 1j], np.complex64)
    counts = ulp.histogram(x, x + np.complex64(2.0**-23))
    assert counts[:2] == (1, 1) and sum(counts) == 2
