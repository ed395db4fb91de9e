"""The layout of the port's inputs is found by their values."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.record.jax_side.layouts import (
    SAME,
    Layout,
    Move,
    channel_orders,
    channels_moved,
    related,
)
from jaxgrad.parity.prove.users import ProofError


RNG = np.random.default_rng(0)
IMAGE = RNG.standard_normal((2, 3, 4, 5))
IDS = np.array([[1, 2, 0], [3, 1, 2]])


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x,
        lambda x: x.transpose(0, 2, 3, 1),
        lambda x: x.transpose(0, 2, 3, 1).reshape(2, 20, 3),
        lambda x: x.reshape(2, 60),
        lambda x: x.transpose(1, 0, 2, 3)[..., None],
    ],
    ids=["same", "last", "flat images", "flat", "new axis"],
)
def test_an_input_may_be_permuted_and_reshaped(change):
    """The layout of given values converts other values in the same way."""
    other = RNG.standard_normal(IMAGE.shape)
    (moved,) = related((IMAGE,), (change(IMAGE),)).inputs((other,))

    assert np.array_equal(moved, change(other))


def test_a_layout_keeps_another_batch_size():
    """An input with more rows is reshaped for that number of rows."""
    layout = related((IMAGE,), (IMAGE.reshape(2, 60),))
    (moved,) = layout.inputs((np.concatenate([IMAGE, IMAGE]),))

    assert moved.shape == (4, 60)


def test_inputs_are_found_by_name_then_by_place():
    """Equal values of two inputs go to the inputs of the same name, or at the same place."""
    named = related({"a": IDS, "b": IDS}, {"b": IDS, "c": IDS})

    assert [move.path for move in named.leaves] == ["b", "a"]
    assert [move.path for move in related((IDS, IDS), (IDS, IDS)).leaves] == ["0", "1"]


def test_a_mask_may_be_of_another_dtype():
    """A mask of floats that the port takes as bools is cast; other numbers are not related."""
    mask = np.array([[1.0, 0.0], [1.0, 1.0]])
    (cast,) = related((mask,), (mask == 1,)).inputs((1 - mask,))

    assert cast.dtype == jnp.bool_ and np.array_equal(cast, mask == 0)
    assert related((2 * mask,), ((2 * mask).astype(int),)).constant == ("0",)


def test_values_that_repeat_are_refused():
    """A constant image fits two permutations; one of torch's shape does not move."""
    with pytest.raises(ProofError, match=r"permuted by \(0, 2, 3, 1\) or by .* that do not repeat"):
        related((np.ones((2, 3, 4, 4)),), (np.ones((2, 4, 4, 3)),))

    assert related((np.ones((3, 3)),), (np.ones((3, 3)),)).moved == []


def test_an_unrelated_input_keeps_all_values():
    """If the port takes numbers that torch does not, no input is redrawn."""
    onehot = np.eye(4)[IDS]
    layout = related((onehot, IMAGE), (IDS, IMAGE))

    assert layout.constant == ("0",) and layout.unused == ("0",) and layout.fixed == ("0", "1")
    assert np.array_equal(layout.inputs((2 * onehot, IMAGE))[0], IDS)
    texts = list(layout.notes())
    assert "all inputs keep their given values" in texts[0]
    assert "its gradient is not compared" in texts[1]


def test_an_input_that_only_torch_takes_is_not_redrawn():
    """An input without a counterpart keeps its values, and the others are redrawn."""
    layout = related((IMAGE, IDS), (IMAGE,))

    assert layout.constant == () and layout.fixed == layout.unused == ("1",)
    assert list(SAME.notes()) == []


def test_channels_are_moved_in_images_first():
    """Images of rank 4 are tried first, and integers are never moved."""
    first = next(channels_moved((IMAGE, RNG.standard_normal((2, 3, 4)), IDS)))

    assert [np.shape(x) for x in first.inputs((IMAGE, IMAGE[:, :, :, 0], IDS))] == [
        (2, 4, 5, 3), (2, 3, 4), (2, 3)
    ]  # fmt: skip
    assert not list(channels_moved((IDS, RNG.standard_normal((2, 3)))))


def test_an_output_is_moved_only_to_its_shape():
    """Only orders that give torch's shape are listed, and a matrix has none."""
    assert channel_orders((2, 4, 5, 3), (2, 3, 4, 5)) == [(0, 3, 1, 2)]
    assert not channel_orders((2, 4, 5, 3), (2, 5, 4, 3))
    assert not channel_orders((2, 3), (3, 2))


def test_each_move_of_the_channels_is_tried():
    """Channels go from either side to either side; volumes and sequences are moved too."""
    shapes = [np.shape(layout.inputs((IMAGE,))[0]) for layout in channels_moved((IMAGE,))]
    assert shapes == 2 * [(2, 4, 5, 3), (3, 4, 5, 2), (2, 5, 3, 4), (5, 2, 3, 4)]

    sequence = IMAGE[..., 0]
    (first, *_) = channels_moved((sequence,))
    assert first.inputs((sequence,))[0].shape == (2, 4, 3)
    both = [
        [np.shape(x) for x in layout.inputs((IMAGE, sequence))]
        for layout in channels_moved((IMAGE, sequence))
    ]
    assert both[4] == [(2, 3, 4, 5), (2, 4, 3)] and both[8] == [(2, 4, 5, 3), (2, 4, 3)]
    (volume, *_) = channels_moved((IMAGE[..., None],))
    assert volume.inputs((IMAGE[..., None],))[0].shape == (2, 4, 5, 1, 3)


def test_a_sequence_has_channels_and_a_matrix_has_none():
    """An output of three axes is the smallest one that is moved."""
    assert channel_orders((2, 5, 3), (2, 3, 5)) == [(0, 2, 1)]
    assert not channel_orders((2, 5, 3), (2, 3, 5, 1))
    assert channel_orders((2, 3, 4), (2, 3, 4)) == []


@pytest.mark.parametrize(
    ("axes", "permuted", "shape", "words"),
    [
        ((0, 1), (2, 6), (2, 3, 2), "in the shape (2, 3, 2)"),
        ((1, 0), (6, 2), (6, 2), "with its axes permuted by (1, 0)"),
        ((1, 0), (6, 2), (12,), "with its axes permuted by (1, 0), in the shape (12,)"),
        ((0, 1), (2, 6), (2, 6), ""),
    ],
)
def test_a_moved_input_is_described(axes, permuted, shape, words):
    """An input that keeps its axes and its shape is not mentioned."""
    move = Move(0, "x", axes, permuted, shape, np.dtype(float))
    assert move.changes is bool(words)
    layout = Layout(leaves=[move, 3])
    notes = [f"the port is given torch's input x {words}, why"] if words else []
    assert list(layout.notes(", why")) == notes


def test_outputs_are_compared_in_torchs_order():
    """A permuted output is permuted back, and named outputs are sorted only if torch has names."""
    layout = Layout(axes={"": (1, 0), "b": (0, 1)}, order=("b", "a"))
    assert layout.output("", np.ones((2, 3))).shape == (3, 2)
    assert layout.output("c", np.ones((2, 3))).shape == (2, 3)
    assert layout.ordered([("a", 1), ("b", 2)]) == [("b", 2), ("a", 1)]
    assert SAME.ordered([("b", 2), ("a", 1)]) == [("b", 2), ("a", 1)]
    assert list(layout.notes()) == [
        "the port's output 0 is compared with its axes permuted by (1, 0)",
        "the port's output b is compared with its axes permuted by (0, 1)",
    ]


def test_an_input_of_six_axes_is_only_reshaped():
    """Five axes are permuted, and six would have too many orders."""
    five = RNG.standard_normal((2, 1, 3, 1, 2))
    six = five[None]
    assert related((five,), (five.transpose(4, 1, 2, 3, 0),)).constant == ()
    assert related((six,), (six.reshape(12),)).constant == ()
    assert related((six,), (six.transpose(0, 5, 2, 3, 4, 1),)).constant == ("0",)
