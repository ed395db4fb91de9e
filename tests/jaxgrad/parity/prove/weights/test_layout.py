"""A layout describes where one array's elements occur in another array."""

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.layout import _close, _numbers, layout


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


@pytest.mark.parametrize(
    ("shape", "split", "order"),
    [
        ((4, 6), (4, 2, 3), (1, 0, 2)),
        ((6, 4), (2, 3, 4), (1, 2, 0)),
        ((4, 6, 5), (4, 3, 2, 5), (2, 0, 3, 1)),
        ((2, 3, 2, 2, 4), (2, 3, 2, 2, 2, 2), (5, 0, 4, 1, 2, 3)),
    ],
    ids=["last axis", "first axis", "middle axis", "six axes"],
)
def test_an_axis_may_be_split_and_permuted(shape, split, order):
    """An axis that is split in two, with the parts in another order, has a layout."""
    w = np.random.default_rng(0).standard_normal(shape)
    leaf = w.reshape(split).transpose(order)
    index = layout(w, leaf)

    assert index is not None and index.dtype == np.int32
    assert np.array_equal(w.ravel()[index], leaf)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_kernels_of_every_rank_may_be_flipped(spatial):
    """The spatial axes of kernels of one to three dimensions may be flipped."""
    kernel = np.random.default_rng(0).standard_normal((2, 3, *range(3, 3 + spatial)))
    axes = tuple(range(2, 2 + spatial))
    leaf = np.moveaxis(np.flip(kernel, axes), (0, 1), (-1, -2))
    index = layout(kernel, leaf)

    assert index is not None
    assert np.array_equal(kernel.ravel()[index], leaf)


def test_a_matrix_is_not_flipped():
    """Reversing the rows of a matrix is not a layout: only kernels are flipped."""
    w = np.random.default_rng(0).standard_normal((3, 4))

    assert layout(w, w[::-1]) is None
    assert layout(w, w[:, ::-1]) is None


@pytest.mark.parametrize("at", [0, 1, 4200, -1])
def test_a_large_array_is_compared_in_full(at):
    """In an array above 4096 elements a single changed element rules the layout out."""
    w = np.random.default_rng(0).standard_normal((70, 71))
    changed = w.T.copy()
    changed.flat[at] += 1
    index = layout(w, w.T)

    assert index is not None and np.array_equal(w.ravel()[index], w.T)
    assert layout(w, changed) is None


def test_tensors_of_one_size_share_an_index():
    """The indices of two transposed matrices are views of one array."""
    a, b = np.random.default_rng(0).standard_normal((2, 6, 4))
    first, second = layout(a, a.T), layout(b, b.T)

    assert first is not None and second is not None and np.shares_memory(first, second)


def test_at_most_six_axes_are_permuted():
    """A split into seven axes is not searched."""
    w = np.random.default_rng(0).standard_normal((2, 2, 2, 2, 2, 4))
    assert layout(w, w.reshape(2, 2, 2, 2, 2, 2, 2).transpose(6, 0, 1, 2, 3, 4, 5)) is None
    assert layout(w, w.transpose(5, 0, 1, 2, 3, 4)) is not None


def test_only_kernels_are_flipped():
    """An array of six axes is not a kernel, so its axes are not flipped."""
    w = np.random.default_rng(0).standard_normal((2, 2, 3, 2, 1, 2))
    assert layout(w, np.flip(w, (2, 3, 4, 5))) is None


def test_equality_is_exact_without_a_tolerance():
    """The tolerance is relative and absolute."""
    a = np.array([1.0, 0.0])
    assert _close(a, a + 0.5e-9, 1e-9) and not _close(a, a + 0.5e-9, 0.0)
    assert not _close(a, a + 3e-9, 1e-9)


def test_numbers_of_a_size_are_shared_and_fixed():
    """One read-only array numbers the elements of all tensors of a size."""
    numbers = _numbers(5)
    assert numbers.tolist() == [0, 1, 2, 3, 4] and numbers is _numbers(5)
    assert not numbers.flags.writeable and numbers.dtype == np.int32
