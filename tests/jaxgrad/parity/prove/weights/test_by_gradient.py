"""Constant leaves are matched with the tensors that have their gradients."""

import dataclasses

import numpy as np

from jaxgrad.parity.prove.weights.by_gradient import guessed_leaves, moved, rematched
from jaxgrad.parity.prove.weights.map import Piece, WeightMap


ALL = (slice(None),)
G = {name: np.random.default_rng(k).standard_normal(4) for k, name in enumerate("abcw")}


def piece(leaf: int, name: str, start: int = 0, size: int = 4) -> Piece:
    return Piece(leaf, ALL, name, np.arange(start, start + size), guessed=True)


def mapped(pieces: list[Piece], tensors: dict[str, np.ndarray], sizes: list[int]) -> WeightMap:
    leaves = tuple(np.zeros(size) for size in sizes)
    return WeightMap(tuple(pieces), leaves, tensors, tuple("xyzu"[: len(sizes)]))


ZEROS = {name: np.zeros(4) for name in "abc"}
THREE = mapped([piece(0, "a"), piece(1, "b"), piece(2, "c")], ZEROS, [4, 4, 4])


def names(weights: WeightMap) -> list[str]:
    return [piece.name for piece in sorted(weights.pieces, key=lambda piece: piece.leaf)]


def test_leaves_get_the_tensors_with_their_gradients():
    """Three zero biases in another order are found, and remain guesses that a redraw checks."""
    found = rematched(THREE, G, [G["c"], G["a"], G["b"]])

    assert names(found) == ["c", "a", "b"]
    assert all(piece.guessed for piece in found.pieces)


def test_a_leaf_without_a_matching_gradient_gets_what_is_left():
    """A wrong gradient, or none at all, matches no tensor: the leaf gets the one that is free."""
    assert names(rematched(THREE, G, [G["c"], 2 * G["a"], G["b"]])) == ["c", "a", "b"]
    assert names(rematched(THREE, G, [G["c"], None, G["b"]])) == ["c", "a", "b"]
    assert names(rematched(THREE, G, [None, None, None])) == ["a", "b", "c"]


def test_a_transposed_matrix_of_zeros_is_arranged():
    """The gradient also shows the order of the axes."""
    weights = mapped([piece(0, "a")], {"a": np.zeros((2, 2))}, [4])
    weights = dataclasses.replace(weights, leaves=(np.zeros((2, 2)),))
    g = G["a"].reshape(2, 2)

    (found,) = rematched(weights, {"a": g}, [g.T]).pieces

    assert found.index.tolist() == [[0, 2], [1, 3]]


def test_slices_of_one_tensor_are_matched_around_a_zero_gradient():
    """The biases of q and v are matched; that of k, which has no gradient, gets the middle."""
    g = np.concatenate([G["a"], np.zeros(4), G["b"]])
    pieces = [piece(k, "a", 4 * k) for k in range(3)]
    weights = mapped(pieces, {"a": np.zeros(12)}, [4, 4, 4])

    found = rematched(weights, {"a": g}, [G["b"], G["a"], np.zeros(4)])

    assert [p.index[0] for p in sorted(found.pieces, key=lambda p: p.leaf)] == [8, 0, 4]


def test_zeros_are_never_matched_with_ones():
    """Equal gradients do not pair leaves with tensors of other values."""
    tensors = {"a": np.zeros(4), "b": np.ones(4)}
    weights = mapped([piece(0, "a"), piece(1, "b")], tensors, [4, 4])

    assert names(rematched(weights, G, [G["b"], G["a"]])) == ["a", "b"]


def test_only_guessed_leaves_are_matched_anew():
    """A leaf that was matched by its values, or that sums two tensors, keeps its pieces."""
    sure = dataclasses.replace(piece(0, "w"), guessed=False)
    sums = [piece(1, "a"), piece(1, "b")]
    weights = mapped([sure, *sums, piece(2, "c")], {**ZEROS, "w": np.arange(4.0)}, [4, 4, 4])

    assert guessed_leaves(weights) == {2}
    assert rematched(weights, G, [G["c"], G["c"], G["a"]]).pieces == weights.pieces


def test_constants_are_moved_and_the_other_weights_are_not():
    """Zero layers would stop the gradient of the layers before them."""
    state = moved(THREE, {**ZEROS, "w": np.arange(4.0)})

    assert np.all(state["a"] == 0.25) and np.array_equal(state["w"], np.arange(4.0))
