"""The layout of the port's inputs is found by their values."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.jax_side.layouts import SAME, channel_orders, channels_moved, related
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
