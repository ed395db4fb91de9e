"""A weight map converts between torch tensors and JAX leaves."""

import numpy as np

from jaxgrad.parity.prove.weights.map import Piece, WeightMap


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
