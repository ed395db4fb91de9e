"""Weights are matched by their values."""

from typing import Any

import numpy as np
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.weights.by_value import (
    ParamLeaf,
    Tensors,
    chunks,
    lookup,
    slices,
    sums,
    varies,
    whole,
    without,
)
from jaxgrad.parity.prove.weights.map import Piece
from tests.jaxgrad.parity.prove._helpers import draw


RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((2, 4, 6)).astype(np.float32)


def leaf(x: np.ndarray) -> ParamLeaf:
    return ParamLeaf(0, "leaf", x)


def restored(pieces: list[Piece], tensors: dict[str, np.ndarray], shape: tuple[int, ...]) -> Any:
    """Assemble a leaf from its pieces."""
    out = np.zeros(shape, np.float32)
    for piece in pieces:
        out[piece.region] += piece.take(tensors[piece.name])
    return out


def test_a_transposed_tensor_is_matched_as_a_whole():
    """A leaf that transposes a tensor is matched with the whole tensor."""
    pieces = whole(Tensors({"a": A, "b": B}), leaf(A.T), set())

    assert [piece.name for piece in pieces] == ["a"]
    assert np.array_equal(restored(pieces, {"a": A}, (6, 4)), A.T)


def test_a_scale_stored_minus_one_has_an_offset():
    """A leaf that stores a scale minus one is matched with an offset of -1."""
    scale = np.round(64 * A) / 64  # subtracting 1 is exact
    (piece,) = whole(Tensors({"scale": scale}), leaf(scale - 1), set())

    assert piece.offset == -1
    assert np.array_equal(piece.take(scale), scale - 1)


def test_equal_tensors_go_to_different_leaves():
    """If two tensors have equal values and one is already matched, a leaf gets the other."""
    tensors = Tensors({"online": A, "target": A})

    assert whole(tensors, leaf(A), {"online"})[0].name == "target"


def test_a_concatenation_is_matched_in_chunks():
    """A leaf that concatenates two transposed tensors is matched with both."""
    x = np.concatenate([B.T, A.T], 1)
    pieces = chunks(Tensors({"a": A, "b": B}), leaf(x))

    assert [piece.name for piece in pieces] == ["b", "a"]
    assert np.array_equal(restored(pieces, {"a": A, "b": B}, x.shape), x)


def test_a_stack_needs_distinct_tensors():
    """A leaf that stacks one tensor twice is not matched, because each chunk needs its own."""
    assert not chunks(Tensors({"a": A}), leaf(np.stack([A, A])))


def test_a_slice_of_a_tensor_is_matched():
    """A leaf that is one half of a tensor is matched with that half."""
    (piece,) = slices(Tensors({"a": A}), leaf(A[2:].T))

    assert np.array_equal(piece.take(A), A[2:].T)


def test_a_sum_of_two_biases_is_matched():
    """A leaf that is the sum of two biases is matched with both of them."""
    tensors = {"b_ih": A[0].astype(np.float64), "b_hh": A[1].astype(np.float64)}
    pieces = sums(Tensors(tensors), leaf(tensors["b_ih"] + tensors["b_hh"]))

    assert {piece.name for piece in pieces} == {"b_ih", "b_hh"}
    assert all(np.array_equal(piece.index, np.arange(6)) for piece in pieces)


def test_a_sum_with_reordered_gates_is_matched():
    """The sum of two biases is matched even if the leaf reorders the gates."""
    tensors = {"b_ih": A[0].astype(np.float64), "b_hh": A[1].astype(np.float64)}
    order = np.array([3, 4, 5, 0, 1, 2])
    pieces = sums(Tensors(tensors), leaf((tensors["b_ih"] + tensors["b_hh"])[order]))

    assert all(np.array_equal(piece.index, order) for piece in pieces)


def test_an_arbitrary_arrangement_is_looked_up():
    """A leaf that reverses and reshapes a tensor is matched element by element."""
    x = A.ravel()[::-1].reshape(3, 8)
    (piece,) = lookup(Tensors({"a": A, "b": B}), leaf(x))

    assert piece.name == "a"
    assert np.array_equal(piece.take(A), x)


def test_a_lookup_needs_every_element():
    """A leaf with an element that no tensor contains is not matched."""
    x = A.copy()
    x[0, 0] += 1

    assert not lookup(Tensors({"a": A}), leaf(x))


def test_only_varying_values_identify_a_tensor():
    """Constant arrays, and single zeros or ones, cannot identify a tensor."""
    assert varies(A) and varies(np.array([3.0]))
    assert not varies(np.ones(5)) and not varies(np.array([0.0]))


def test_leaves_with_a_piece_are_done():
    """`without` drops the leaves that already have a piece."""
    one, two = ParamLeaf(0, "one", A), ParamLeaf(1, "two", B)
    piece = Piece(0, (slice(None),) * 2, "a", np.arange(24).reshape(4, 6))

    assert [x.path for x in without([one, two], [piece])] == ["two"]


def test_equal_biases_of_one_element_have_their_own_leaves():
    """A critic and its target network, equal at the start, keep separate biases."""
    torch.manual_seed(0)

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False)
            self.target.load_state_dict(self.online.state_dict())

        def forward(self, x: Tensor, following: Tensor) -> Tensor:
            return (self.online(x) - 0.9 * self.target(following)) ** 2

    module = Critic()
    p = {
        name: {"w": part.weight.detach().numpy().T, "b": part.bias.detach().numpy()}
        for name, part in module.named_children()
        if isinstance(part, nn.Linear)
    }

    def apply(p: Any, x: Any, following: Any) -> Any:
        q = x @ p["online"]["w"] + p["online"]["b"]
        frozen = lax.stop_gradient(p["target"])
        return (q - 0.9 * (following @ frozen["w"] + frozen["b"])) ** 2

    prove(module, apply, p, (draw(4, 3), draw(4, 3)[::-1])).check()
