"""Mistakes in calls that move elements: which are tried, and what each computes."""

import pytest
import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes import views
from tests.jaxgrad.parity.prove.causes.mistakes._helpers import check, draw, texts, tried


X = draw(4, 6)
CUBE = draw(2, 3, 5)


def test_up_to_three_operands_are_joined_in_every_order():
    """Four operands have too many orders."""
    a, b, c = X, X + 1, X + 2

    calls = tried(views.joined, torch.cat, [a, b, c], 1)
    assert len(calls) == 6
    check(
        calls[:1],
        {"the operands of cat are in another order: 0, 2, 1": torch.cat([a, c, b], 1)},
    )
    calls = tried(views.joined, torch.stack, (a, b), dim=1)
    check(calls, {"the operands of stack are in another order: 1, 0": torch.stack([b, a], 1)})
    assert "order" not in " ".join(texts(tried(views.joined, torch.cat, [a, b, c, a])))


@pytest.mark.parametrize(("args", "kwargs"), [((1,), {}), ((-2,), {}), ((), {"dim": 1})])
def test_the_elements_of_the_operands_alternate(args, kwargs):
    """A rotary embedding appends two halves in one code base and interleaves them in another."""
    a, b = CUBE, CUBE + 1
    *_, last = tried(views.joined, torch.cat, [a, b], *args, **kwargs)
    text = "the elements of the operands of cat alternate, torch appends the operands"

    check([last], {text: torch.stack([a[:, 0], b[:, 0], a[:, 1], b[:, 1], a[:, 2], b[:, 2]], 1)})
    assert len(tried(views.joined, torch.cat, [X, X[:2]])) == 1


def test_the_axes_are_moved_before_they_are_flattened():
    """The channels are moved to the end, and the last two axes are exchanged."""
    check(
        tried(views.reshaped, torch.flatten, CUBE, 1),
        {
            "the channels are flattened last, torch flattens them first": CUBE.permute(
                0, 2, 1
            ).reshape(2, 15),
            "the last two axes are exchanged before flatten": CUBE.mT.reshape(2, 15),
        },
    )
    images = draw(2, 3, 4, 5)
    check(
        tried(views.reshaped, Tensor.reshape, images, (2, 60))[:1],
        {
            "the channels are flattened last, torch flattens them first": images.permute(
                0, 2, 3, 1
            ).reshape(2, 60)
        },
    )


def test_a_split_axis_is_split_in_the_other_order():
    """If a reshape splits the last axis in two, the two factors are tried in the other order."""
    check(
        tried(views.reshaped, Tensor.reshape, X, (4, 2, 3)),
        {
            "the last axis is split with its two factors exchanged (heads and their size)": (
                X.reshape(4, 3, 2).mT
            )
        },
    )


@pytest.mark.parametrize("shape", [(24,), (2, 2, 6), (6, 4), (3, 2, 4), (4, 2, 3, 1)])
def test_another_reshape_of_a_matrix_has_no_mistake(shape):
    """A matrix has no channels, and its last axis is not split in two."""
    assert not tried(views.reshaped, Tensor.reshape, X, shape)


def test_axes_are_reshaped_instead_of_moved():
    """A transposed square has its own shape, and a reshape would change nothing."""
    check(
        tried(views.moved, torch.transpose, X, 0, 1),
        {"the array is reshaped where torch's transpose moves the axes": X.reshape(6, 4)},
    )
    assert not tried(views.moved, torch.transpose, X[:, :4], 0, 1)


def test_up_to_three_parts_are_taken_in_every_order():
    """Four parts have too many orders."""
    calls = tried(views.parted, torch.chunk, X, 3, 1)
    a, b, c = X.chunk(3, 1)

    assert texts(calls)[:-1] == [
        f"the parts of chunk are in another order: {order}"
        for order in ("0, 2, 1", "1, 0, 2", "1, 2, 0", "2, 0, 1", "2, 1, 0")
    ]
    for part, expected in zip(calls[3].result, (c, a, b), strict=True):
        assert torch.equal(part, expected)
    assert not tried(views.parted, torch.unbind, X)


@pytest.mark.parametrize("dim", [1, -1])
@pytest.mark.parametrize(("func", "size"), [(torch.chunk, 3), (torch.split, 2)])
def test_each_part_has_every_third_element(func, size, dim):
    """The parts are strided in one program and contiguous in the other."""
    *_, last = tried(views.parted, func, X, size, dim)

    assert last.mistake == "each part has every third element, torch's parts are contiguous"
    assert all(map(torch.equal, last.result, (X[:, ::3], X[:, 1::3], X[:, 2::3])))
    assert "every" not in " ".join(texts(tried(views.parted, torch.split, X, 4, 1)))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ((slice(None, 2),), {"starts at 1": X[1:3], "starts at 2": X[2:]}),
        ((..., slice(1, 5)), {"starts at 2": X[:, 2:], "starts at 0": X[:, :4]}),
        ((None, slice(-3, None)), {"starts at 0": X[None, :3]}),
        ((slice(None, -1), 1), {"starts at 1": X[1:, 1]}),
        ((slice(None), slice(1, 1)), {}),
    ],
)
def test_a_slice_begins_at_another_element(index, expected):
    """A slice of the same length begins at its neighbours and at both ends of the axis."""
    calls = [c for c in tried(views.taken, Tensor.__getitem__, X, index) if "slice" in c.mistake]

    assert len(calls) == len(expected)
    for call, (text, result) in zip(calls, expected.items(), strict=True):
        assert text in call.mistake and torch.equal(call.result, result)


def test_a_half_has_every_second_element():
    """A half of an axis is a slice with a step in the other program."""
    text = "each part has every second element, torch's parts are contiguous"
    calls = [
        c for c in tried(views.taken, Tensor.__getitem__, X, (..., slice(3, None)))
        if "every" in c.mistake
    ]  # fmt: skip
    check(calls, {text: X[:, 1::2]})

    text = "index 1 takes contiguous elements, torch every second"
    check(
        tried(views.taken, Tensor.__getitem__, X, (slice(None), slice(1, None, 2))),
        {text: X[:, 3:]},
    )


@pytest.mark.parametrize(
    ("index", "wrong", "text"),
    [
        (0, (-1,), "index 0 takes the last element, torch the first"),
        (-1, (0,), "index 0 takes the first element, torch the last"),
        ((slice(1, 3), 0), (slice(1, 3), -1), "index 1 takes the last element, torch the first"),
        ((-1, slice(1, 3)), (0, slice(1, 3)), "index 0 takes the first element, torch the last"),
    ],
)
def test_the_element_at_the_other_end_is_taken(index, wrong, text):
    """An index of the first element is exchanged with the last, wherever it stands."""
    check(tried(views.taken, Tensor.__getitem__, X, index)[:1], {text: X[wrong]})


def test_each_end_of_several_axes_is_exchanged_alone():
    """Two indices of an end are two mistakes."""
    calls = tried(views.taken, Tensor.__getitem__, CUBE, (0, slice(None), -1))

    assert [c.args[1] for c in calls] == [(-1, slice(None), -1), (0, slice(None), 0)]
    assert len(set(texts(calls))) == 2


@pytest.mark.parametrize("rows", [False, True])
def test_a_tensor_of_indices_is_replaced_or_shifted(rows):
    """The first and the last element are taken for all indices, and each index moves by one."""
    k = torch.tensor([1, 2, 1])
    index = (slice(None), k) if rows else k
    where = f"index {int(rows)}"

    def take(k: Tensor) -> Tensor:
        return X[:, k] if rows else X[k]

    check(
        tried(views.taken, Tensor.__getitem__, X, index),
        {
            f"{where} takes the first element, torch those in a tensor of indices": take(k * 0),
            f"{where} takes the last element, torch those in a tensor of indices": take(k * 0 - 1),
            f"the indices in {where} are shifted by 1": take(k + 1),
            f"the indices in {where} are shifted by -1": take(k - 1),
        },
    )


@pytest.mark.parametrize(
    "index", [1, (slice(None), 2), True, X > 0, torch.tensor([], dtype=torch.int64), (None, ...)]
)
def test_other_indices_have_no_other_end(index):
    """A middle element, a mask and an empty tensor are left as they are."""
    assert not tried(views.taken, Tensor.__getitem__, X, index)


def test_two_shifts_that_take_the_same_of_two_elements_are_one():
    """JAX reads -1 as the last of two elements, and 2 as the last one too."""
    shifted = views.shifted_indices(torch.tensor([0, 0]), 2)
    assert [*shifted] == [1]
    assert shifted[1].tolist() == [1, 1]
    both = views.shifted_indices(torch.tensor([0, 2]), 3)
    assert {by: x.tolist() for by, x in both.items()} == {1: [1, 2], -1: [2, 1]}
