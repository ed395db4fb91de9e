"""Two arrays with the same elements have the same layout, or one is shuffled."""

import numpy as np
import pytest

from jaxgrad.parity.prove.align.order import exchanged_axes, reordering, same_layout


X = np.random.default_rng(0).standard_normal((2, 3, 8))
ONE_HOT = np.eye(6)[[0, 2, 1, 1, 5, 3]]


@pytest.mark.parametrize(
    "y",
    [
        X,
        X + 1e-14,
        X.transpose(2, 0, 1),
        X.reshape(6, 8),
        X.reshape(2, 3, 2, 4).transpose(0, 2, 1, 3),
        X.reshape(2, 3, 2, 4).transpose(2, 0, 1, 3).reshape(4, 3, 4),
        X.reshape(2, 3, 4, 2).transpose(3, 1, 0, 2).reshape(6, 2, 4),
    ],
)
def test_axes_may_be_transposed_split_and_merged(y):
    """Attention heads before the batch, and channels last, are other layouts of one value."""
    assert same_layout(X, y)
    assert same_layout(y, X)


@pytest.mark.parametrize(
    "y",
    [
        X[..., ::-1],
        X[..., [0, 2, 1, 3, 4, 5, 6, 7]].reshape(6, 8),
        X.reshape(2, 3, 2, 4).swapaxes(2, 3).reshape(2, 3, 8),
        np.random.default_rng(1).permutation(X.ravel()).reshape(4, 12),
    ],
)
def test_a_shuffled_axis_is_no_layout(y):
    """Reversed or interleaved elements along an axis of the same length are in another order."""
    assert not same_layout(X, y)


def test_a_mask_is_compared_element_by_element():
    """One-hot rows are equal up to the order of their elements, whatever they are."""
    assert same_layout(ONE_HOT, ONE_HOT.T)
    assert same_layout(ONE_HOT, ONE_HOT.reshape(6, 2, 3))
    assert not same_layout(ONE_HOT, ONE_HOT[::-1].reshape(6, 2, 3))


def test_arrays_of_different_size_have_no_common_layout():
    """An array with more elements is not another layout."""
    assert not same_layout(X, X[:1])


def test_the_new_order_is_found_on_all_draws():
    """Elements that are equal on one draw differ on the other."""
    x = [np.array([[0.0, 0.0, 3.0, 4.0]]), np.array([[1.0, 2.0, 3.0, 4.0]])]
    y = [a[:, [1, 0, 3, 2]] for a in x]
    indices = reordering(x, y)
    assert indices is not None
    assert indices.tolist() == [1, 0, 3, 2]


def test_transposed_elements_have_the_same_order():
    """No indices are returned where only the axes differ, or where other elements occur."""
    assert reordering([X], [X.transpose(2, 0, 1)]) is None
    assert reordering([X], [X.reshape(6, 8)]) is None
    assert reordering([X], [X + 1]) is None
    assert reordering([X], [X[:1]]) is None


def test_exchanged_axes_are_told_from_other_orders():
    """Exchanged operands of a product transpose it; rows in another order are no transposition."""
    flat = np.arange(18).reshape(2, 3, 3)
    assert exchanged_axes(flat.swapaxes(1, 2).ravel(), (2, 3, 3)) == (1, 2)
    assert exchanged_axes(flat[::-1].ravel(), (2, 3, 3)) is None
    assert exchanged_axes(flat.ravel(), (2, 3, 3)) is None
    assert exchanged_axes(None, (2, 3, 3)) is None
