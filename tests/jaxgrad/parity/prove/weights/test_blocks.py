"""A weight map's pieces become blocks of evenly spaced elements, and blocks are read back."""

from typing import Any

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.blocks import Block, blocks_of
from jaxgrad.parity.prove.weights.map import Piece


def piece(index: Any, **options: Any) -> Piece:
    """Return a piece that covers a whole leaf."""
    index = np.asarray(index)
    return Piece(0, (slice(None),) * index.ndim, "w", index, **options)


def whole(index: Any, **options: Any) -> list[Block]:
    """Return the blocks of a leaf that holds these elements."""
    return blocks_of(piece(index, **options), "leaf", np.shape(index))


def check(blocks: list[Block], index: Any) -> None:
    """Require that the blocks hold exactly these elements of the tensor."""
    held = np.full(np.shape(index), -1)
    for block in blocks:
        assert np.all(held[block.slices] == -1)
        held[block.slices] = block.positions
    np.testing.assert_array_equal(held, index)


RANGE = np.arange(24)


@pytest.mark.parametrize(
    ("index", "strides"),
    [
        (RANGE.reshape(4, 6), (6, 1)),
        (RANGE.reshape(4, 6).T, (1, 6)),
        (RANGE.reshape(2, 3, 4).transpose(2, 0, 1), (1, 12, 4)),
        (RANGE.reshape(4, 6)[::-1], (-6, 1)),
        (RANGE.reshape(4, 6)[1:3, ::2], (6, 2)),
        (RANGE[:1].reshape(1, 1), (0, 0)),
        (np.zeros((2, 3), int), (0, 0)),
        (np.array(5), ()),
    ],
)
def test_a_rearranged_tensor_is_one_block(index, strides):
    """Transposed, reversed, strided and repeated elements are evenly spaced."""
    (block,) = whole(index)

    assert block.strides == strides
    assert block.start == index.flat[0]
    assert (block.leaf, block.tensor, block.scale, block.offset) == ("leaf", "w", 1.0, 0.0)
    check([block], index)


@pytest.mark.parametrize(
    ("index", "regions"),
    [
        ([0, 1, 2, 6, 7, 8], [((0, 3),), ((3, 6),)]),
        ([0, 1, 2, 3, 3, 3], [((0, 4),), ((4, 6),)]),
        ([0, 5, 3, 4], [((0, 2),), ((2, 4),)]),
        ([[0, 1, 9], [3, 4, 12]], [((0, 2), (0, 2)), ((0, 2), (2, 3))]),
        ([[0, 1], [2, 3], [7, 8]], [((0, 2), (0, 2)), ((2, 3), (0, 2))]),
        ([[0, 1, 2], [2, 1, 0]], [((0, 1), (0, 3)), ((1, 2), (0, 3))]),
    ],
)
def test_an_uneven_piece_is_cut_where_the_step_changes(index, regions):
    """A run ends where its step changes, and where the slabs do not follow evenly."""
    blocks = whole(index)

    assert [block.region for block in blocks] == regions
    check(blocks, index)


def test_a_random_order_has_many_blocks_but_the_same_elements():
    """Whatever the order, the blocks hold it; above 512 blocks, one holds an index."""
    order = np.random.default_rng(0).permutation(RANGE).reshape(4, 6)
    blocks = whole(order)
    assert len(blocks) > 4
    check(blocks, order)

    order = np.cumsum(np.arange(2048) // 2 % 7 + 1).reshape(2, 1024)
    (block,) = whole(order)
    assert (block.region, block.strides, block.start) == (((0, 2), (0, 1024)), (), 0)
    check([block], order)


def uneven(count: int) -> np.ndarray:
    """Return indices in `count` runs of two elements."""
    starts = np.cumsum(np.arange(count) % 2 + 3)
    return np.stack([starts, starts + 1], 1).ravel()


def test_the_limit_is_512_blocks():
    """512 blocks are kept as they are, and one more is written as an index."""
    assert len(whole(uneven(512))) == 512
    assert len(whole(uneven(513))) == 1


def test_an_index_keeps_an_equal_scale_and_offset():
    """Blocks with different scales or offsets cannot become one index."""
    index = uneven(600)
    (block,) = whole(index, scale=2.0, offset=3.0)
    assert (block.scale, block.offset) == (2.0, 3.0)

    changing = np.where(np.arange(index.size) < 6, 2.0, 3.0)
    assert len(whole(index, scale=changing)) > 512
    assert len(whole(index, offset=changing)) > 512


def test_a_piece_is_cut_where_its_scale_or_offset_changes():
    """Each block has one scale and one offset."""
    scale, offset = np.array([2.0, 2.0, 3.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0])

    blocks = whole(np.arange(4), scale=scale)
    assert [(b.region, b.scale) for b in blocks] == [(((0, 2),), 2.0), (((2, 4),), 3.0)]
    blocks = whole(np.arange(4), offset=offset)
    assert [(b.region, b.offset) for b in blocks] == [(((0, 1),), 0.0), (((1, 4),), 1.0)]
    blocks = whole(np.arange(4).reshape(2, 2), scale=np.array([[1.0, 2.0], [1.0, 2.0]]))
    assert [b.region for b in blocks] == [((0, 2), (0, 1)), ((0, 2), (1, 2))]


def test_a_block_without_elements_is_left_out():
    """A scale of 0 marks elements that are not held, unless an offset is added."""
    scale = np.array([1.0, 1.0, 0.0, 0.0])

    assert [b.region for b in whole(np.arange(4), scale=scale)] == [((0, 2),)]
    assert len(whole(np.arange(4), scale=scale, offset=5.0)) == 2
    assert whole(np.zeros((0, 3), int)) == []


def test_a_block_of_a_part_of_a_leaf_has_the_parts_place():
    """A piece in the second half of a leaf starts there."""
    part = Piece(0, (slice(2, 4), slice(None)), "w", np.arange(6).reshape(2, 3))
    (block,) = blocks_of(part, "leaf", (4, 3))

    assert block.region == ((2, 4), (0, 3))
    assert block.slices == (slice(2, 4), slice(0, 3))
    cut = Piece(0, (slice(None), slice(1, 5)), "w", np.array([[0, 1, 8, 9]]))
    assert [b.region for b in blocks_of(cut, "leaf", (1, 6))] == [
        ((0, 1), (1, 3)),
        ((0, 1), (3, 5)),
    ]


@pytest.mark.parametrize(
    ("index", "shape", "record"),
    [
        (RANGE.reshape(4, 6), (4, 6), {"axes": [0, 1]}),
        (RANGE.reshape(4, 6).T, (4, 6), {"axes": [1, 0]}),
        (RANGE.reshape(2, 3, 4).transpose(2, 0, 1), (2, 3, 4), {"axes": [2, 0, 1]}),
        (RANGE[:4].reshape(2, 2).T, (2, 2), {"axes": [1, 0]}),
        (RANGE[:3].reshape(1, 3, 1), (3, 1, 1), {"axes": [1, 0, 2]}),
        (RANGE.reshape(4, 6)[1:], (4, 6), {"region": [[0, 3], [0, 6]], "start": 6}),
        (RANGE.reshape(4, 6)[::-1], (4, 6), {"region": [[0, 4], [0, 6]], "start": 18}),
        (RANGE.reshape(4, 6), (24,), {"region": [[0, 4], [0, 6]], "start": 0}),
        (RANGE[:12].reshape(4, 3), (4, 6), {"region": [[0, 4], [0, 3]], "start": 0}),
        (RANGE.reshape(4, 6)[:3], (4, 6), {"region": [[0, 3], [0, 6]], "start": 0}),
    ],
)
def test_a_block_is_written_readably_and_read_back(index, shape, record):
    """A tensor with its axes permuted is written as axes, anything else as a region."""
    (block,) = whole(index)
    written = block.to_dict(index.shape, shape)
    if "region" in record:
        record = {**record, "strides": list(block.strides)}

    assert written == {"tensor": "w", **record}
    read = Block.from_dict("leaf", written, index.shape, {"w": shape})
    assert read.leaf == "leaf"
    check([read], index)


def test_a_part_of_a_leaf_is_not_written_as_axes():
    """A region that does not cover the leaf is written with its ends."""
    block = Block("leaf", ((2, 4), (0, 2)), "w", 0, (2, 1))

    assert block.to_dict((4, 2), (2, 2)) == {
        "tensor": "w", "region": [[2, 4], [0, 2]], "start": 0, "strides": [2, 1],
    }  # fmt: skip


@pytest.mark.parametrize(
    "numbers", [{}, {"scale": 2.0}, {"offset": 1.0}, {"scale": 3.0, "offset": 1.0}]
)
@pytest.mark.parametrize("index", [RANGE[:6].reshape(2, 3), RANGE[6:12].reshape(2, 3)])
def test_a_scale_and_an_offset_are_written_if_they_matter(index, numbers):
    """1 and 0 are not written; other numbers are, and read back."""
    (block,) = whole(index, **numbers)
    written = block.to_dict((2, 3), (2, 3))

    assert {k: written[k] for k in ("scale", "offset") if k in written} == numbers
    read = Block.from_dict("leaf", written, (2, 3), {"w": (2, 3)})
    assert (read.scale, read.offset) == (numbers.get("scale", 1.0), numbers.get("offset", 0.0))


def test_an_index_is_written_and_read_back():
    """A block with an index keeps each element, its scale and its offset."""
    block = Block("leaf", ((1, 3), (0, 2)), "w", 0, (), 2.0, 1.0, (5, 3, 9, 1))
    written = block.to_dict((3, 2), (2, 5))

    assert written == {
        "tensor": "w", "region": [[1, 3], [0, 2]], "index": [5, 3, 9, 1],
        "scale": 2.0, "offset": 1.0,
    }  # fmt: skip
    assert Block.from_dict("leaf", written, (3, 2), {"w": (2, 5)}) == block
    np.testing.assert_array_equal(block.positions, [[5, 3], [9, 1]])
