"""Weights are matched by their values."""

from typing import Any

import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.weights.by_value import (
    ParamLeaf,
    Tensors,
    chunks,
    lookup,
    low,
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


@pytest.mark.parametrize("part", ["leaf", "tensor"])
@pytest.mark.filterwarnings("error")
def test_complex_numbers_are_not_sums(part):
    """A complex leaf or tensor is not matched, and none is cast to real numbers."""
    complex_, real = np.arange(3) + 1j, np.arange(3.0)
    tensors = {"a": complex_ if part == "tensor" else real, "b": real}

    assert not sums(Tensors(tensors), leaf(complex_ if part == "leaf" else 3 * real))


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


BIASES = {"b_ih": A[0].astype(np.float64), "b_hh": A[1].astype(np.float64)}


@pytest.mark.parametrize("alone", ["b_ih", "b_hh"])
def test_a_part_of_a_leaf_may_hold_one_bias_alone(alone):
    """The last third of the leaf holds one of the biases, as in equinox's GRU."""
    x = BIASES["b_ih"] + BIASES["b_hh"]
    x[4:] = BIASES[alone][4:]
    pieces = sums(Tensors(BIASES), leaf(x))

    assert [(p.name, p.region) for p in pieces] == [
        (name, (slice(0, 6 if name == alone else 4),)) for name in BIASES
    ]
    assert np.allclose(restored(pieces, BIASES, (6,)), x, atol=1e-6)


@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_a_gate_of_a_summed_bias_may_be_shifted(shift):
    """The forget gate's bias may be stored 1 less or more, as haiku does."""
    x = BIASES["b_ih"] + BIASES["b_hh"]
    x[2:4] += shift
    pieces = sums(Tensors(BIASES), leaf(x))

    assert [piece.name for piece in pieces] == ["b_ih", "b_hh"]
    assert [float(np.sum(piece.offset)) for piece in pieces] == [2 * shift, 0.0]
    assert np.allclose(restored(pieces, BIASES, (6,)), x, atol=1e-6)


def test_a_sum_needs_two_vectors_of_one_size():
    """A single element, other values and one bias alone are not sums."""
    both = BIASES["b_ih"] + BIASES["b_hh"]
    wrong = both.copy()
    wrong[3] += 1e-3

    assert not sums(Tensors(BIASES), leaf(both[:1]))
    assert not sums(Tensors(BIASES), leaf(wrong))
    assert not sums(Tensors(BIASES), leaf(BIASES["b_ih"]))
    assert not sums(Tensors(BIASES | {"b_hh": A.ravel()[:12]}), leaf(both))


def test_a_lookup_may_find_several_tensors():
    """A leaf whose rows are two tensors in reverse is matched with both."""
    x = np.stack([B.ravel()[::-1], A.ravel()[::-1]])
    pieces = lookup(Tensors({"a": A, "b": B}), leaf(x))

    assert [(p.name, p.region[0]) for p in pieces] == [("a", slice(1, 2)), ("b", slice(0, 1))]
    assert np.array_equal(restored(pieces, {"a": A, "b": B}, x.shape), x)


def test_interleaved_tensors_are_not_matched():
    """A leaf that alternates the elements of two tensors is not matched."""
    x = np.stack([A.ravel(), B.ravel()], 1).ravel()

    assert not lookup(Tensors({"a": A, "b": B}), leaf(x))


@pytest.mark.parametrize("twin", [(0, 0), (0, 1), (1, 5), (1, 2), (3, 5)])
@pytest.mark.parametrize("reverse", [True, False], ids=["reversed", "in order"])
def test_a_repeated_value_continues_the_order_of_its_neighbours(twin, reverse):
    """An element whose value occurs twice is taken from the place that its neighbours suggest."""
    t = A.copy()
    t[2, 3] = t[twin]
    order = np.arange(24)[:: -1 if reverse else 1].reshape(3, 8)
    (piece,) = lookup(Tensors({"b": B, "a": t}), leaf(t.ravel()[order]))

    assert piece.name == "a" and np.array_equal(piece.index, order)


def test_no_element_is_matched_twice_where_nothing_tells_its_twins_apart():
    """Elements of equal values in a random arrangement are matched with different elements."""
    t = A.copy()
    t[1] = t[0]
    order = RNG.permutation(24).reshape(3, 8)
    (piece,) = lookup(Tensors({"b": B, "a": t}), leaf(t.ravel()[order]))

    assert np.array_equal(piece.take(t), t.ravel()[order])
    assert sorted(piece.index.ravel()) == list(range(24))


@pytest.mark.parametrize("part", [A[:, :2], A[:, 2:4], A[3:], A[:2, :]], ids=str)
def test_every_equal_slice_is_found(part):
    """Slices along any axis, in any place, are matched with their elements."""
    (piece,) = slices(Tensors({"b": B, "a": A}), leaf(part))

    assert piece.name == "a" and np.array_equal(piece.take(A), part)


def test_an_unequal_slice_is_not_one():
    """A tensor as a whole, a slice with other values and an unequal slice are not slices."""
    tensors = Tensors({"a": A})

    assert not slices(tensors, leaf(A))
    assert not slices(tensors, leaf(A[1:]))
    assert not slices(tensors, leaf(A[:2] + 1))


def test_a_stack_is_matched_in_chunks():
    """A leaf that stacks two tensors is matched with both, and one with a constant part is not."""
    x = np.stack([A, B], 1)
    pieces = chunks(Tensors({"a": A, "b": B}), leaf(x))

    assert [piece.name for piece in pieces] == ["a", "b"]
    assert np.array_equal(restored(pieces, {"a": A, "b": B}, x.shape), x)
    constant = np.stack([A, np.ones_like(A)])
    assert not chunks(Tensors({"a": A, "one": np.ones_like(A)}), leaf(constant))
    assert not chunks(Tensors({"a": A}), leaf(np.concatenate([A, B[:2]])))


def test_the_likelier_of_two_equal_tensors_is_tried_first():
    """If two tensors have equal values, the one whose name is like the path comes first."""
    tensors = Tensors({"target.weight": A, "online.weight": A})

    assert tensors.like(A, "online/kernel") == ["online.weight", "target.weight"]
    assert tensors.like(A, "online/kernel", {"online.weight"})[0] == "target.weight"
    assert tensors.like(2 * A, "online/kernel") == []
    assert tensors.first(A, "online/kernel", frozenset()) == "online.weight"
    assert tensors.first(A, "online/kernel", {"online.weight"}) == "target.weight"
    assert tensors.first(A.T, "online/kernel", frozenset()) is None, "in another order"


def test_the_smallest_arrays_that_vary():
    """Two different elements vary; one 1, no element and two equal ones do not."""
    assert varies(np.array([1.0, 2.0])) and varies(np.array([0.5]))
    assert not varies(np.array([1.0])) and not varies(np.array([]))
    assert not varies(np.array([2.0, 2.0]))
    assert low(np.array([1 + 2j])).dtype == np.complex64
    assert low(np.array([1.0])).dtype == np.float32


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


def test_the_middle_of_a_leaf_may_hold_one_bias_alone():
    """Only the elements that hold a bias get its offset, although its region covers the others."""
    x = BIASES["b_ih"] + BIASES["b_hh"]
    x[2:4] = BIASES["b_hh"][2:4] - 1
    x[4:] += 1
    pieces = sums(Tensors(BIASES), leaf(x))

    assert [np.broadcast_to(p.offset, 6).tolist() for p in pieces] == [
        [0, 0, 0, 0, 1, 1], [0, 0, -1, -1, 0, 0]
    ]  # fmt: skip
    assert np.allclose(restored(pieces, BIASES, (6,)), x, atol=1e-6)


@pytest.mark.parametrize("change", [1e-9, -1e-9])
def test_a_sum_beside_the_smallest_and_the_largest_one_is_matched(change):
    """Rounding may move a sum beyond all sums of torch."""
    x = BIASES["b_ih"] + BIASES["b_hh"] + change
    pieces = sums(Tensors(BIASES), leaf(x))

    assert [piece.index.tolist() for piece in pieces] == [list(range(6))] * 2


@pytest.mark.parametrize(("change", "matches"), [(1.05e-6, True), (1.15e-6, False)])
def test_a_sum_may_be_rounded_to_float32(change, matches):
    """A sum of 1 may be off by 1.1e-6."""
    tensors = {"a": np.array([0.25, 2.3, 6.7]), "b": np.array([0.75, 3.2, 4.43])}
    x = tensors["a"] + tensors["b"]
    x[0] += change

    assert bool(sums(Tensors(tensors), leaf(x))) is matches


@pytest.mark.parametrize("reverse", [True, False], ids=["reversed", "in order"])
def test_the_first_element_of_all_tensors_may_be_a_twin(reverse):
    """A repeated value is taken from the very first element if its neighbours suggest it."""
    t = A.copy()
    t[2, 3] = t[0, 0]
    order = np.arange(24)[:: -1 if reverse else 1].reshape(3, 8)
    (piece,) = lookup(Tensors({"a": t}), leaf(t.ravel()[order]))

    assert np.array_equal(piece.index, order)
