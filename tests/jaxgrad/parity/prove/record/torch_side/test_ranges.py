"""The values that a module accepts in its integer inputs are found from its calls."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity.prove.record.torch_side.ranges import Ranges
from jaxgrad.parity.prove.record.torch_side.redraws import Range


TABLE = torch.zeros(7, 3)
SCORES = torch.zeros(4, 5)
MAP = torch.zeros(1, 5, 4, 2)  # the classes are the second dimension
LABELS = torch.tensor([1, 2, 3, 1])


class Calls(nn.Module):
    """A module that calls one function of its input."""

    def __init__(self, call: Callable[..., Any]) -> None:
        super().__init__()
        self.call = call

    def forward(self, *args: Any) -> Any:
        return self.call(*args)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda i: functional.embedding(i, TABLE), Range(0, 7)),
        (lambda i: functional.embedding(i.view(2, 2), TABLE, 0), Range(0, 7, (0,))),
        (lambda i: functional.embedding(i.long() + 2, TABLE, -1), Range(-2, 5, (4,))),
        (lambda i: functional.cross_entropy(SCORES, i), Range(0, 5, rare=(-100,))),
        (lambda i: functional.cross_entropy(SCORES, i, ignore_index=0), Range(0, 5, (0,))),
        (lambda i: functional.cross_entropy(MAP, i[None, :, None].expand(1, 4, 2)),
         Range(0, 5, rare=(-100,))),
        (lambda i: functional.nll_loss(SCORES[0], i[0]), Range(0, 5, rare=(-100,))),
        (lambda i: functional.one_hot(i, 9), Range(0, 9)),
        (lambda i: functional.one_hot(i, 9) + SCORES[0, i.clamp(max=2)].sum(), Range(0, 9)),
        (lambda i: SCORES.gather(1, i[:, None]), Range(0, 5)),
        (lambda i: torch.take_along_dim(SCORES, i[:, None], dim=1), Range(0, 5)),
        (lambda i: torch.take_along_dim(SCORES, i[:, None], 1), Range(0, 5)),
        (lambda i: SCORES.index_select(1, i), Range(0, 5)),
        (lambda i: TABLE[i], Range(0, 7)),
        (lambda i: TABLE[..., None][:, i % 3] + TABLE[None, i].sum(), Range(0, 7)),
        (lambda i: torch.zeros(2, 6)[torch.tensor([True, False]), i], Range(0, 6)),
        (lambda i: (TABLE[i], functional.one_hot(i, 6)), Range(0, 6)),
        (lambda i: TABLE.scatter(0, i[:, None], SCORES), Range(0, 7, distinct=True)),
        (lambda i: i * 1.5, None),
    ],
)  # fmt: skip
def test_the_range_of_an_index_is_found(call, expected):
    """An input that is used as an index has the size of the dimension that it indexes."""
    module = Calls(call)
    with Ranges(module) as ranges:
        module(LABELS)
    assert ranges.found.get(0) == expected


def test_only_the_input_that_is_an_index_has_a_range():
    """Ranges are kept by the position among the inputs, and no hook stays on the module."""
    module = Calls(lambda x, mask, labels: functional.cross_entropy(x[mask], labels))
    with Ranges(module) as ranges:
        module(SCORES, torch.ones(4, dtype=torch.bool), LABELS)
    assert ranges.found == {2: Range(0, 5, rare=(-100,))}
    assert not module._forward_pre_hooks
    np.testing.assert_array_equal(LABELS, [1, 2, 3, 1])


CUBE = torch.zeros(7, 8, 9)
FOUR = torch.zeros(7, 8, dtype=torch.bool)
FOUR[0, :4] = True


def stored(i: torch.Tensor) -> torch.Tensor:
    table = TABLE.clone()
    table[i] = 1
    return table


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda i: functional.embedding_bag(i[None], TABLE, padding_idx=3), Range(0, 7, (3,))),
        (lambda i: functional.embedding(input=i, weight=TABLE, padding_idx=6), Range(0, 7, (6,))),
        (lambda i: functional.nll_loss(SCORES, i, ignore_index=-1), Range(0, 5, (-1,))),
        (lambda i: functional.nll_loss(SCORES, i, None, None, -100), Range(0, 5, rare=(-100,))),
        (lambda i: functional.one_hot(i + 1, 5), Range(-1, 4)),
        (lambda i: torch.index_select(SCORES, dim=1, index=i), Range(0, 5)),
        (lambda i: torch.zeros(7, 5).index_add(0, i, SCORES), Range(0, 7)),
        (lambda i: torch.zeros(7, 5).index_copy(0, i, SCORES), Range(0, 7, distinct=True)),
        (lambda i: torch.zeros(7, 5).index_fill_(0, i, 1.0), Range(0, 7, distinct=True)),
        (stored, Range(0, 7, distinct=True)),
        (lambda i: CUBE[..., i], Range(0, 9)),
        (lambda i: CUBE[..., i, :], Range(0, 8)),
        (lambda i: CUBE[:, i], Range(0, 8)),
        (lambda i: CUBE[0, i], Range(0, 8)),
        (lambda i: CUBE[None, i], Range(0, 7)),
        (lambda i: CUBE[None, ..., i], Range(0, 9)),
        (lambda i: CUBE[i, ..., 0], Range(0, 7)),
        (lambda i: CUBE[i, ..., i], Range(0, 7)),
        (lambda i: CUBE[FOUR, i], Range(0, 9)),
        (lambda i: CUBE[None, FOUR, i], Range(0, 9)),
        (lambda i: TABLE[i - 1], Range(1, 8)),
        (lambda i: TABLE[(i + 1).view(2, 2) + 1], Range(-2, 5)),
    ],
)
def test_each_form_of_an_index_has_its_dimension(call, expected):
    """Axes are counted from either side of an ellipsis, a mask covers its axes, and None none."""
    module = Calls(call)
    with Ranges(module) as ranges:
        module(LABELS)
    assert ranges.found.get(0) == expected


def test_only_integers_are_followed():
    """Inputs of floats, complex numbers and bools are no indices."""
    module = Calls(lambda x, z, b, i: (TABLE[b], TABLE[i], x + z))
    with Ranges(module) as ranges:
        module(SCORES[0], 1j * SCORES[0], torch.ones(7, dtype=torch.bool), LABELS)
    assert ranges.found == {3: Range(0, 7)}


@pytest.mark.parametrize(
    "call",
    [
        functional.one_hot,
        lambda i: torch.take_along_dim(SCORES, i),
        lambda i: CUBE[..., FOUR[:, :4].any(1).repeat(2)[:9].any()],
        lambda i: TABLE[2 * i % 7],
        lambda i: TABLE[i.repeat(2)],
        lambda i: TABLE[i.float().long()],
    ],
    ids=range(6),
)
def test_other_integers_are_not_followed(call):
    """A class count, flattened indices and a product or repetition of an index have no range."""
    module = Calls(call)
    with Ranges(module) as ranges:
        module(LABELS)
    assert ranges.found == {}
