"""A weight map converts between torch tensors and JAX leaves."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.map import ConversionRule, Piece, WeightMap


ALL = (slice(None),)
A, B = np.array([1.0, 2.0]), np.array([5.0, 7.0])


def mapped(*pieces: Piece, leaves: int = 1) -> WeightMap:
    paths = tuple(f"leaf{i}" for i in range(leaves))
    return WeightMap(pieces, (np.zeros(2),) * leaves, {"a": A, "b": B}, paths)


PLAIN, REVERSED = Piece(0, ALL, "a", np.array([0, 1])), Piece(0, ALL, "a", np.array([1, 0]))


def test_weights_go_to_jax_and_back():
    """A reversed tensor is stored in a leaf and restored from it."""
    weights = mapped(REVERSED)
    (leaf,) = weights.to_jax({"a": A})

    assert np.array_equal(leaf, [2, 1])
    assert np.array_equal(weights.values_of([leaf])["a"], A)


def test_an_offset_is_added_and_removed():
    """An offset is added when a tensor becomes a leaf, and subtracted on the way back."""
    weights = mapped(Piece(0, ALL, "a", np.array([0, 1]), -1.0))
    (leaf,) = weights.to_jax({"a": A})

    assert np.array_equal(leaf, A - 1)
    assert np.array_equal(weights.values_of([leaf])["a"], A)


def test_the_gradient_of_a_sum_goes_to_both_terms():
    """A summed leaf passes its gradient to both tensors, but cannot restore either."""
    weights = mapped(PLAIN, Piece(0, ALL, "b", np.array([0, 1])))

    assert np.array_equal(weights.to_jax({"a": A, "b": B})[0], A + B)
    grads = weights.to_torch([np.array([3.0, 4.0])])
    assert all(np.array_equal(g, [3, 4]) for g in grads.values() if g is not None)
    assert not weights.values_of([A + B])


def test_gradients_of_two_copies_are_added():
    """The gradients of two copies of a tensor are added, each in its own order."""
    weights = mapped(PLAIN, Piece(1, ALL, "a", np.array([1, 0])), leaves=2)
    grad = weights.to_torch([np.array([1.0, 0.0]), np.array([10.0, 20.0])])["a"]

    assert grad is not None and np.array_equal(grad, [21, 10])


def test_a_tensor_without_a_gradient_has_none():
    """A tensor whose leaves have no gradient has the gradient None."""
    assert mapped(PLAIN).to_torch([None]) == {"a": None, "b": None}


def test_places_and_names_are_listed():
    """A map lists the leaves of a tensor and the tensors of a leaf."""
    weights = mapped(PLAIN, Piece(1, ALL, "a", np.array([1, 0])), leaves=2)

    assert weights.place_of("a") == "leaf0, leaf1"
    assert weights.place_of("b") == "no leaf"
    assert weights.names_of(1) == ["a"]


def test_a_copy_of_a_tensor_is_found():
    """A tensor that no leaf holds is recognized as a copy if a leaf holds an equal tensor."""
    weights = WeightMap((PLAIN,), (A,), {"a": A, "b": A.copy(), "c": B}, ("leaf0",))

    assert weights.copy_of("b") == "a"
    assert weights.copy_of("c") is None


def test_a_scale_multiplies_weights_and_gradients():
    """A scaled leaf scales the gradient, and is divided by the scale on the way back."""
    weights = mapped(Piece(0, ALL, "a", np.array([0, 1]), scale=-2.0))

    assert np.array_equal(weights.to_jax({"a": A})[0], -2 * A)
    grad = weights.to_torch([np.array([1.0, 10.0])])["a"]
    assert grad is not None and np.array_equal(grad, [-2, -20])
    assert np.array_equal(weights.values_of([-2 * A])["a"], A)
    assert weights.not_one_to_one == {"a": "leaf leaf0 holds a multiple of it"}


def test_a_partial_sum_names_what_it_adds():
    """A tensor that one element of a leaf adds to another cannot be restored from the leaf."""
    part = Piece(0, ALL, "b", np.array([0, 0]), scale=np.array([1.0, 0.0]))
    weights = mapped(PLAIN, part)

    assert np.array_equal(weights.to_jax({"a": A, "b": B})[0], [6, 2])
    assert weights.merged == {"a": "leaf leaf0 adds it with b", "b": "leaf leaf0 adds it with a"}
    assert list(part.used) == [0]


def test_a_permutation_with_signs_is_one_to_one():
    """A leaf that reorders a tensor and changes signs moves as the tensor does."""
    signs = Piece(0, ALL, "a", np.array([1, 0]), scale=np.array([1.0, -1.0]))

    assert not mapped(signs).not_one_to_one
    repeated = mapped(Piece(0, ALL, "a", np.array([1, 1])))
    assert repeated.not_one_to_one == {"a": "leaf leaf0 repeats its elements"}


def test_a_rule_converts_and_transposes():
    """A rule computes its leaf, and its transposed derivative is taken at the given tensors."""
    rule = ConversionRule(
        {0: ("a", "b")},
        lambda t: {0: t["a"] * t["b"]},
        lambda t, g: {"a": g[0] * t["b"], "b": g[0] * t["a"]},
    )
    weights = dataclasses.replace(mapped(), rule=rule)

    assert np.array_equal(weights.to_jax({"a": A, "b": B})[0], A * B)
    grads: Any = weights.to_torch([np.ones(2)], {"a": 2 * A, "b": B})
    assert np.array_equal(grads["b"], 2 * A) and np.array_equal(grads["a"], B)
    assert weights.to_torch([None]) == {"a": None, "b": None}
    assert weights.names == ["a", "b"] and weights.place_of("b") == "leaf0"
    assert weights.merged["a"] == "leaf leaf0 is computed from a, b"


def test_leaves_without_a_tensor_keep_their_values():
    """A leaf that no piece covers is passed on as it is."""
    weights = dataclasses.replace(mapped(PLAIN, leaves=2), leaves=(np.zeros(2), B))

    assert [list(x) for x in weights.to_jax({"a": A})] == [[1, 2], [5, 7]]


def test_an_element_with_scale_zero_is_not_used():
    """A piece uses only the elements that it does not multiply by zero."""
    piece = Piece(0, ALL, "a", np.array([1, 0]), scale=np.array([0.0, 2.0]))

    assert list(piece.used) == [0]
    assert list(piece.take(A)) == [0.0, 2.0]


def test_a_constant_tensor_is_not_a_copy():
    """Two tensors of ones, and tensors of one element, are not copies of each other."""
    for x in (np.ones(2), np.array([3.0])):
        piece = Piece(0, ALL, "a", np.arange(x.size))
        weights = WeightMap((piece,), (x,), {"a": x, "b": x.copy()}, ("leaf",))
        assert weights.copy_of("b") is None


def test_a_rule_and_a_piece_may_use_one_tensor():
    """The gradient of a tensor that a rule and a piece use is the sum of both."""
    rule = ConversionRule({1: ("a",)}, lambda t: {1: 3 * t["a"]}, lambda _, g: {"a": 3 * g[1]})
    weights = dataclasses.replace(mapped(PLAIN, leaves=2), rule=rule)
    grad = weights.to_torch([np.array([1.0, 2.0]), np.array([10.0, 20.0])])["a"]

    assert grad is not None and list(grad) == [31, 62]


NUMBERS = np.arange(24)
ARRANGED = {
    "the tensor": NUMBERS.reshape(4, 6),
    "transposed": NUMBERS.reshape(4, 6).T,
    "heads first": np.moveaxis(NUMBERS.reshape(4, 2, 3), 1, 0),
    "flipped": np.flip(NUMBERS.reshape(4, 6), 1),
    "every other row": NUMBERS.reshape(4, 6)[::2],
    "one element": NUMBERS[5:6],
    "repeated": np.broadcast_to(NUMBERS, (2, 24)),
    "shuffled": np.random.default_rng(0).permutation(24),
}


@pytest.mark.parametrize("name", ARRANGED)
def test_views_and_copies_of_a_tensor_agree(name):
    """A leaf and a gradient are the same, whether the indices are evenly spaced or listed."""
    index, rng = ARRANGED[name], np.random.default_rng(1)
    tensor, grad = rng.standard_normal((4, 6)), rng.standard_normal(index.shape)
    piece = Piece(0, (slice(None),) * index.ndim, "a", index)
    weights = WeightMap((piece,), (np.zeros(index.shape),), {"a": tensor}, ("leaf",))
    (leaf,), back = weights.to_jax({"a": tensor}), weights.to_torch([grad])["a"]
    expected = np.zeros(24)
    np.add.at(expected, index, grad)

    assert (piece.steps is None) == (name == "shuffled")
    assert np.array_equal(leaf, tensor.ravel()[index])
    assert back is not None and np.allclose(back, expected.reshape(4, 6), rtol=1e-15)
    assert np.shares_memory(back, grad) == (name in ("the tensor", "transposed"))


def test_evenly_spaced_indices_that_overlap_are_added():
    """The index 0, 1, 1, 2 is evenly spaced along both axes, and its element 1 occurs twice."""
    piece = Piece(0, ALL * 2, "a", np.array([[0, 1], [1, 2]]))
    weights = WeightMap((piece,), (np.zeros((2, 2)),), {"a": np.zeros(3)}, ("leaf",))
    back = weights.to_torch([np.ones((2, 2))])["a"]

    assert piece.steps == (1, 1) and not piece.once
    assert back is not None and list(back) == [1, 2, 1]
