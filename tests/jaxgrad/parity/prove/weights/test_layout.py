"""A layout describes where one array's elements occur in another array."""

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.layout import layout


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.T,
        lambda w: w.reshape(6, 2, 3),
        lambda w: np.moveaxis(w.reshape(6, 2, 3), 0, -1),
        lambda w: w,
    ],
    ids=["transpose", "heads", "heads first", "none"],
)
def test_the_layout_of_a_rearranged_matrix_is_found(change):
    """Transposing and splitting a matrix is recovered as an index of its elements."""
    w = np.random.default_rng(0).standard_normal((6, 6)).astype(np.float32)
    index = layout(w, change(w))
    assert index is not None
    assert np.array_equal(w.ravel()[index], change(w))


def test_a_flipped_kernel_is_found():
    """A kernel with flipped spatial axes and permuted channels has a layout."""
    kernel = np.random.default_rng(0).standard_normal((2, 3, 4, 4))
    flipped = np.flip(kernel, (2, 3)).transpose(2, 3, 1, 0)
    index = layout(kernel, flipped)

    assert index is not None
    assert np.array_equal(kernel.ravel()[index], flipped)


def test_other_values_have_no_layout():
    """An array with different values, or of a different size, has no layout."""
    w = np.random.default_rng(0).standard_normal((3, 4))

    assert layout(w, w.T + 1e-3) is None
    assert layout(w, w[:2]) is None


def test_a_tolerance_admits_rounded_values():
    """Values that differ by rounding have a layout only with a tolerance."""
    w = np.random.default_rng(0).standard_normal((3, 4))

    assert layout(w, w.T * (1 + 1e-12)) is None
    assert layout(w, w.T * (1 + 1e-12), rtol=1e-9) is not None
